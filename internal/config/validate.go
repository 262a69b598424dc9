package config

import "strings"

// Validate reports everything that is wrong with a role as an *invalid.Error, or nil.
func Validate(role Role) error {
	c := &check{}
	role.validate(c)
	return c.Err()
}

func (r *Coordinator) validate(c *check) {
	c.cluster(r.Cluster)
	c.vgroups(r.VGroups)
	if r.MaxConcurrentCheckpoints < 1 {
		c.add("max_concurrent_checkpoints", "", "%d: want at least 1", r.MaxConcurrentCheckpoints)
	}
	c.http("http", r.HTTP)
	c.postgres(r.Postgres, needed)
	c.kafka(r.Kafka, needed)
	c.security(r.Security, r.HTTP, tokensOnly)
	c.log(r.Log)
	c.telemetry(r.Telemetry)
}

func (r *Worker) validate(c *check) {
	if len(r.Coordinators) == 0 {
		c.add("coordinators", "", "name at least one coordinator, http://host:port")
	}
	for _, u := range r.Coordinators {
		c.baseURL("coordinators", u)
	}
	c.dataDir(r.DataDir)
	c.memory(r.Memory)
	c.state(r.State)
	if r.DispatchMaxBatch < KiB || r.DispatchMaxBatch > maxBatch {
		c.add("dispatch_max_batch", "", "%s: want 1KiB to %s", r.DispatchMaxBatch, maxBatch)
	}
	for _, h := range r.WebhookHosts {
		if h != strings.ToLower(h) || strings.ContainsAny(h, "/@ ") || strings.Contains(strings.TrimPrefix(h, "*."), "*") {
			c.add("webhook_hosts", "for example hooks.example.com, *.example.com or hooks.example.com:8443", "%q is not a host in lower case", h)
		}
	}
	c.http("http", r.HTTP)
	c.postgres(r.Postgres, needed)
	c.kafka(r.Kafka, needed)
	c.security(r.Security, r.HTTP, tokensOnly)
	c.log(r.Log)
	c.telemetry(r.Telemetry)
}

func (r *Snapshotter) validate(c *check) {
	c.dataDir(r.DataDir)
	c.http("http", r.HTTP)
	c.security(r.Security, r.HTTP, tokensOnly)
	c.log(r.Log)
	c.telemetry(r.Telemetry)
}

func (r *Node) validate(c *check) {
	r.Worker.validate(c)
	c.http("snapshotter", r.Snapshotter)
	c.security(r.Security, r.Snapshotter, tokensOnly)
}

func (r *Broker) validate(c *check) {
	c.hostPort("listen", r.Listen)
	c.dataDir(r.DataDir)
	c.log(r.Log)
}

func (r *Dev) validate(c *check) {
	c.dataDir(r.DataDir)
	c.cluster(r.Cluster)
	c.vgroups(r.VGroups)
	c.memory(r.Memory)
	c.http("http", r.HTTP)
	c.hostPort("broker_listen", r.BrokerListen)
	c.postgres(r.Postgres, optional)
	c.kafka(r.Kafka, optional)
	c.security(r.Security, r.HTTP, offOnLoopback)
	c.log(r.Log)
	c.telemetry(r.Telemetry)
}

func (r *Client) validate(c *check) { c.baseURL("api", r.API) }

func (r *Doctor) validate(c *check) {
	r.Client.validate(c)
	c.dataDir(r.DataDir)
	c.postgres(r.Postgres, optional)
	c.kafka(r.Kafka, optional)
}

func (r *Topics) validate(c *check) { c.kafka(r.Kafka, needed) }
