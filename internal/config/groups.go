package config

import "time"

// HTTP configures a service's API.
type HTTP struct {
	// Address to listen on, host:port. Port 0 takes a free one.
	Listen string `key:"listen"`
	// Base URL under which other services and clients reach it, http://host:port. Empty: made from the listen address.
	Advertise string `key:"advertise"`
}

// State configures what a node keeps of windows.
type State struct {
	// Memory of the windows of all tasks of the node, in equal shares. What is more lies on disk, below data_dir. 0: half of
	// what memory is, beside that.
	Memory Size `key:"memory"`
}

// Kafka configures the connection to the brokers.
type Kafka struct {
	// Addresses to begin with, host:port.
	Brokers []string `key:"brokers"`
	// Encryption.
	TLS TLS `key:"tls"`
	// Authentication.
	SASL SASL `key:"sasl"`
}

// TLS configures the encryption of a connection.
type TLS struct {
	// Whether to encrypt.
	Enabled bool `key:"enabled"`
	// PEM file of the authorities to trust. Empty: those of the system.
	CAFile string `key:"ca_file"`
	// PEM file of the client's certificate, where the other side asks for one.
	CertFile string `key:"cert_file"`
	// PEM file of the key of the client's certificate.
	KeyFile string `key:"key_file"`
	// Name to expect in the other side's certificate. Empty: the host that was dialled.
	ServerName string `key:"server_name"`
}

// SASL configures authentication to the brokers.
type SASL struct {
	// plain, scram-sha-256 or scram-sha-512. Empty: none.
	Mechanism string `key:"mechanism"`
	// User name.
	Username string `key:"username"`
	// Password, {from: env|file, name: …}.
	Password Secret `key:"password"`
}

// Postgres configures the connection to a database.
type Postgres struct {
	// Connection URL without a password: postgres://user@host:port/database.
	URL string `key:"url"`
	// Password, {from: env|file, name: …}.
	Password Secret `key:"password"`
	// Encryption. Not enabled, what the URL says holds.
	TLS TLS `key:"tls"`
	// Most connections a process opens.
	MaxConnections int `key:"max_connections"`
	// How long to wait for a connection.
	ConnectTimeout time.Duration `key:"connect_timeout"`
}

// Security configures who may call.
type Security struct {
	// token: users send a bearer token. off: everyone may do everything; for dev on loopback only.
	Auth Auth `key:"auth"`
	// Secret that all processes of the cluster share, with which they sign their calls to each other,
	// {from: env|file, name: …}. Only dev without tokens needs none.
	ClusterSecret Secret `key:"cluster_secret"`
	// Token of an administrator that always holds, for the first set-up, {from: env|file, name: …}.
	AdminToken Secret `key:"admin_token"`
}

// Auth says how users are told apart.
type Auth string

// The ways.
const (
	AuthToken Auth = "token"
	AuthOff   Auth = "off"
)

// Log configures the log, which goes to standard error.
type Log struct {
	// debug, info, warn or error.
	Level string `key:"level"`
	// json, or text for people.
	Format LogFormat `key:"format"`
}

// LogFormat is the form of log lines.
type LogFormat string

// The formats.
const (
	LogJSON LogFormat = "json"
	LogText LogFormat = "text"
)

// Telemetry configures traces. Metrics are always at /metrics.
type Telemetry struct {
	// OTLP/HTTP endpoint of a collector, http://host:4318. Empty: no traces, at no cost.
	OTLPEndpoint string `key:"otlp_endpoint"`
	// Part of the blocks that are traced from ingest to sink, 0 to 1. Requests that arrive with a trace keep it.
	SampleRatio float64 `key:"sample_ratio"`
}
