package config

import (
	"runtime"
	"time"
)

// Coordinator configures `pondage coordinator`.
type Coordinator struct {
	// Name of the cluster, [a-z][a-z0-9_]{0,30}. Starts the names of all topics, groups and locks; never change it later.
	Cluster string `key:"cluster"`
	// Number of vgroups of a new cluster: the unit of partitioning and placement, and the number of partitions of edge
	// topics. Fixed when the cluster is made.
	VGroups int `key:"vgroups"`
	// How many streams may have a checkpoint under way at a time; the one that has waited longest goes first.
	MaxConcurrentCheckpoints int `key:"max_concurrent_checkpoints"`
	// The API.
	HTTP HTTP `key:"http"`
	// The metastore.
	Postgres Postgres `key:"postgres"`
	// The brokers with sources, edges and outputs.
	Kafka Kafka `key:"kafka"`
	// Who may call.
	Security Security `key:"security"`
	// Logs.
	Log Log `key:"log"`
	// Traces.
	Telemetry Telemetry `key:"telemetry"`
}

// Worker configures `pondage worker`.
type Worker struct {
	// Base URLs of the coordinator's replicas, http://host:port.
	Coordinators []string `key:"coordinators"`
	// Directory of the node's data; locked by one process. Shared with the node's snapshotter.
	DataDir string `key:"data_dir"`
	// Directory of checkpoints. Empty: below data_dir, which is enough for a process that dies; one that all nodes share (any
	// POSIX file system) also for a machine that is lost.
	CheckpointDir string `key:"checkpoint_dir"`
	// Memory of all queues, held blocks, fetch and produce buffers of the node. When it is full, sources pause.
	Memory Size `key:"memory"`
	// Window state.
	State State `key:"state"`
	// Largest dispatch request, before compression. At most half of max.message.bytes of the edge topics (8 MiB).
	DispatchMaxBatch Size `key:"dispatch_max_batch"`
	// Hosts that webhooks may have, where not every stream's author may make the node call anything it can reach: names, *.name
	// for all below one; with :port that port only. Empty: every host.
	WebhookHosts []string `key:"webhook_hosts"`
	// The API.
	HTTP HTTP `key:"http"`
	// Database of result tables without a target of their own, and of Postgres outputs.
	Postgres Postgres `key:"postgres"`
	// The brokers with sources, edges and outputs.
	Kafka Kafka `key:"kafka"`
	// Who may call.
	Security Security `key:"security"`
	// Logs.
	Log Log `key:"log"`
	// Traces.
	Telemetry Telemetry `key:"telemetry"`
}

// StateMemory is the memory for windows, in bytes.
func (w *Worker) StateMemory() int64 {
	const share = 2 // of what memory is
	if w.State.Memory != 0 {
		return int64(w.State.Memory)
	}
	return int64(w.Memory) / share
}

// Snapshotter configures `pondage snapshotter`.
type Snapshotter struct {
	// Directory of the node's data; shared with the node's worker.
	DataDir string `key:"data_dir"`
	// The API.
	HTTP HTTP `key:"http"`
	// Who may call.
	Security Security `key:"security"`
	// Logs.
	Log Log `key:"log"`
	// Traces.
	Telemetry Telemetry `key:"telemetry"`
}

// Node configures `pondage node`: a worker and a snapshotter in one process.
type Node struct {
	// The worker, and what both share.
	Worker `key:",inline"`
	// The API of the snapshotter.
	Snapshotter HTTP `key:"snapshotter"`
}

// Broker configures `pondage broker`, the embedded broker as a process of its own. For one machine and for tests.
type Broker struct {
	// Address that clients connect to, host:port.
	Listen string `key:"listen"`
	// Directory of the log.
	DataDir string `key:"data_dir"`
	// Logs.
	Log Log `key:"log"`
}

// Dev configures `pondage dev`, everything in one process.
type Dev struct {
	// Directory of all data; survives restarts.
	DataDir string `key:"data_dir"`
	// Name of the cluster.
	Cluster string `key:"cluster"`
	// Number of vgroups of a new cluster.
	VGroups int `key:"vgroups"`
	// Memory of all queues and buffers of the node.
	Memory Size `key:"memory"`
	// Brokers to use instead of the embedded one. Without brokers the embedded one is started.
	Kafka Kafka `key:"kafka"`
	// Database to use instead of a private one. Without a url a private one is started.
	Postgres Postgres `key:"postgres"`
	// The API of the coordinator. Port 0 takes a free one.
	HTTP HTTP `key:"http"`
	// Address of the embedded broker, host:port. Port 0 takes a free one.
	BrokerListen string `key:"broker_listen"`
	// Who may call.
	Security Security `key:"security"`
	// Logs.
	Log Log `key:"log"`
	// Traces.
	Telemetry Telemetry `key:"telemetry"`
}

// Client configures the commands that talk to a coordinator.
type Client struct {
	// Base URL of the coordinator, http://host:port.
	API string `key:"api"`
	// Bearer token to show, {from: env|file, name: …}.
	Token Secret `key:"token"`
}

// Doctor configures `pondage doctor`. What is not named is looked for where `pondage dev` has it.
type Doctor struct {
	// The coordinator.
	Client `key:",inline"`
	// Directory whose disk is looked at.
	DataDir string `key:"data_dir"`
	// The brokers with sources, edges and outputs.
	Kafka Kafka `key:"kafka"`
	// The metastore or the database of results.
	Postgres Postgres `key:"postgres"`
}

// Topics configures the commands on topics.
type Topics struct {
	// The brokers. Where none is named, the one of pondage dev.
	Kafka Kafka `key:"kafka"`
}

// Ports of the services where none is given; unassigned by IANA and next to each other.
const (
	portCoordinator = "127.0.0.1:7420"
	portWorker      = "127.0.0.1:7421"
	portSnapshotter = "127.0.0.1:7422"
	portBroker      = "127.0.0.1:7492"
)

const (
	defaultCluster = "pondage"
	defaultVGroups = 8 // DESIGN §1
	// defaultConcurrent is checkpoints at a time (DESIGN §7): enough for hundreds of streams at the default interval.
	defaultConcurrent = 64
	devMemory         = 256 * MiB // DESIGN §5
	maxBatch          = 4 * MiB   // DESIGN §4
	// shareOfMachine is the part of the machine's memory that a worker takes when nothing is said (DESIGN §5).
	shareOfMachine = 4
)

// DefaultCoordinator returns the defaults of the role.
func DefaultCoordinator() Coordinator {
	return Coordinator{
		Cluster: defaultCluster, VGroups: defaultVGroups, MaxConcurrentCheckpoints: defaultConcurrent,
		HTTP: HTTP{Listen: portCoordinator}, Postgres: defaultPostgres(),
		Kafka: defaultKafka(), Security: defaultSecurity(), Log: defaultLog(), Telemetry: defaultTelemetry(),
	}
}

// DefaultWorker returns the defaults of the role.
func DefaultWorker() Worker {
	return Worker{
		Coordinators: []string{"http://" + portCoordinator}, DataDir: "pondage-node", Memory: machineMemory() / shareOfMachine, DispatchMaxBatch: maxBatch,
		HTTP: HTTP{Listen: portWorker}, Postgres: defaultPostgres(), Kafka: defaultKafka(), Security: defaultSecurity(), Log: defaultLog(), Telemetry: defaultTelemetry(),
	}
}

// DefaultSnapshotter returns the defaults of the role.
func DefaultSnapshotter() Snapshotter {
	return Snapshotter{DataDir: "pondage-node", HTTP: HTTP{Listen: portSnapshotter}, Security: defaultSecurity(), Log: defaultLog(), Telemetry: defaultTelemetry()}
}

// DefaultNode returns the defaults of the role.
func DefaultNode() Node {
	return Node{Worker: DefaultWorker(), Snapshotter: HTTP{Listen: portSnapshotter}}
}

// DefaultBroker returns the defaults of the role.
func DefaultBroker() Broker {
	return Broker{Listen: portBroker, DataDir: "pondage-broker", Log: defaultLog()}
}

// DefaultDev returns the defaults of the role: loopback, without tokens.
func DefaultDev() Dev {
	d := Dev{
		DataDir: ".dev", Cluster: defaultCluster, VGroups: defaultVGroups, Memory: devMemory, Kafka: defaultKafka(), Postgres: defaultPostgres(),
		HTTP: HTTP{Listen: portCoordinator}, BrokerListen: portBroker, Security: defaultSecurity(), Log: defaultLog(), Telemetry: defaultTelemetry(),
	}
	d.Kafka.Brokers = nil
	d.Security.Auth = AuthOff
	d.Log.Format = LogText
	return d
}

// DefaultClient returns the defaults of the commands.
func DefaultClient() Client { return Client{API: "http://" + portCoordinator} }

// DefaultDoctor returns the defaults of the role.
func DefaultDoctor() Doctor {
	return Doctor{Client: DefaultClient(), DataDir: DefaultDev().DataDir, Postgres: defaultPostgres()}
}

// DefaultTopics returns the defaults of the commands.
func DefaultTopics() Topics { return Topics{Kafka: Kafka{Brokers: []string{portBroker}}} }

func defaultPostgres() Postgres {
	const connections = 4 // a service is served well by few; a metastore serves many
	return Postgres{MaxConnections: max(connections, runtime.GOMAXPROCS(0)), ConnectTimeout: 5 * time.Second}
}

func defaultKafka() Kafka { return Kafka{Brokers: []string{"127.0.0.1:9092"}} }

func defaultSecurity() Security { return Security{Auth: AuthToken} }

func defaultLog() Log { return Log{Level: "info", Format: LogJSON} }

func defaultTelemetry() Telemetry { return Telemetry{SampleRatio: 0.01} }
