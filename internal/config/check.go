package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/invalid"
)

// check gathers what is wrong with a role.
type check struct{ invalid.Collector }

// add reports a fault of the key at the path ("" for none).
func (c *check) add(path, hint, format string, args ...any) {
	e := invalid.New(faultValue, pointer(path), format, args...)
	e.Details[0].Hint = hint
	c.Add(e.Details[0])
}

// pointer turns kafka.tls into /kafka/tls; names of flags and variables stay.
func pointer(path string) string {
	if path == "" || strings.HasPrefix(path, "-") || strings.HasPrefix(path, EnvPrefix) {
		return path
	}
	return "/" + strings.ReplaceAll(path, ".", "/")
}

// presence tells whether a role can do without a group.
type presence int

const (
	needed presence = iota
	optional
)

var clusterName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

func (c *check) cluster(name string) {
	if !clusterName.MatchString(name) {
		c.add("cluster", "", "%q: want a lower-case letter followed by up to 30 lower-case letters, digits and underscores", name)
	}
}

// maxVGroups bounds the partitions of an edge topic.
const maxVGroups = 1024

func (c *check) vgroups(v int) {
	if v < 1 || v > maxVGroups {
		c.add("vgroups", "", "%d: want 1 to %d", v, maxVGroups)
	}
}

// leastMemory is what a node needs so that every task can keep a block (DESIGN §5).
const leastMemory = 32 * MiB

// leastState is below what a node with windows can work with.
const leastState = MiB

func (c *check) state(s State) {
	if s.Memory != 0 && s.Memory < leastState {
		c.add("state/memory", "0: half of what memory is", "%s: want at least %s", s.Memory, leastState)
	}
}

func (c *check) memory(m Size) {
	if m < leastMemory {
		c.add("memory", "", "%s: want at least %s", m, leastMemory)
	}
}

func (c *check) dataDir(dir string) {
	if dir == "" {
		c.add("data_dir", "", "name a directory")
	}
}

func (c *check) http(path string, h HTTP) {
	c.hostPort(path+".listen", h.Listen)
	if h.Advertise != "" {
		c.baseURL(path+".advertise", h.Advertise)
	}
}

func (c *check) hostPort(path, addr string) {
	_, port, err := net.SplitHostPort(addr)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		c.add(path, "127.0.0.1:7420, or :7420 for all interfaces", "%q: want host:port", addr)
	}
}

func (c *check) baseURL(path, text string) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		c.add(path, "", "%q: want http://host:port", text)
	}
}

func (c *check) postgres(p Postgres, need presence) {
	if p.URL == "" && need == needed {
		c.add("postgres.url", "postgres://user@host:5432/database", "name the database")
	}
	if p.URL != "" {
		u, err := url.Parse(p.URL)
		if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
			c.add("postgres.url", "", "want postgres://user@host:port/database") // not repeated: it may hold a password
		}
	}
	if p.MaxConnections < 1 {
		c.add("postgres.max_connections", "", "%d: want at least 1", p.MaxConnections)
	}
	if p.ConnectTimeout <= 0 {
		c.add("postgres.connect_timeout", "", "%s: want more than nothing", p.ConnectTimeout)
	}
	c.tls("postgres.tls", p.TLS)
}

var saslMechanisms = []string{"plain", "scram-sha-256", "scram-sha-512"}

func (c *check) kafka(k Kafka, need presence) {
	if len(k.Brokers) == 0 && need == needed {
		c.add("kafka.brokers", "127.0.0.1:9092", "name at least one broker")
	}
	for _, b := range k.Brokers {
		c.hostPort("kafka.brokers", b)
	}
	c.tls("kafka.tls", k.TLS)
	if m := k.SASL.Mechanism; m != "" {
		if !slices.Contains(saslMechanisms, m) {
			c.add("kafka.sasl.mechanism", "", "%q: want %s", m, strings.Join(saslMechanisms, ", "))
		}
		if k.SASL.Username == "" || !k.SASL.Password.Set() {
			c.add("kafka.sasl", "", "a mechanism needs username and password")
		}
	}
}

func (c *check) tls(path string, t TLS) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		c.add(path, "", "cert_file and key_file go together")
	}
	if t == (TLS{}) || t.Enabled {
		return
	}
	c.add(path, "set "+path+".enabled", "files are named, but encryption is off")
}

// authRule says how a role may tell users apart.
type authRule int

const (
	tokensOnly authRule = iota
	offOnLoopback
)

func (c *check) security(s Security, h HTTP, rule authRule) {
	switch {
	case s.Auth == AuthToken, s.Auth == AuthOff && rule == offOnLoopback && loopback(h.Listen):
	case s.Auth == AuthOff:
		c.add("security.auth", "", "off is for dev on loopback only")
	default:
		c.add("security.auth", "", "%q: want token or off", s.Auth)
	}
	if s.ClusterSecret.Set() {
		return
	}
	const remedy = "all processes of the cluster need the same one"
	switch {
	case !loopback(h.Listen):
		c.add("security.cluster_secret", remedy, "needed because %s is not loopback", h.Listen)
	case s.Auth == AuthToken:
		// A worker has no token: unsigned, it could not ask the coordinator what the name of a source or stream means.
		c.add("security.cluster_secret", remedy, "needed because callers are told apart by tokens, which processes do not have")
	}
}

// loopback tells whether an address is reached from this machine only.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func (c *check) log(l Log) {
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, l.Level) {
		c.add("log.level", "", "%q: want debug, info, warn or error", l.Level)
	}
	if l.Format != LogJSON && l.Format != LogText {
		c.add("log.format", "", "%q: want json or text", l.Format)
	}
}

func (c *check) telemetry(t Telemetry) {
	if t.OTLPEndpoint != "" {
		c.baseURL("telemetry.otlp_endpoint", t.OTLPEndpoint)
	}
	if t.SampleRatio < 0 || t.SampleRatio > 1 {
		c.add("telemetry.sample_ratio", "", "%g: want 0 to 1", t.SampleRatio)
	}
}
