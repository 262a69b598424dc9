package spec

// Kafka is the topic that a source reads.
type Kafka struct {
	Topic string `spec:"topic,required"`
	Connection
}

// Connection says how to reach a Kafka; empty: the cluster's.
type Connection struct {
	Brokers []string `spec:"brokers"`
	TLS     *TLS     `spec:"tls"`
	SASL    *SASL    `spec:"sasl"`
}

// TLS configures an encrypted connection. The references hold PEM text; without CA the system's roots are trusted.
type TLS struct {
	CA         *SecretRef `spec:"ca"`
	Cert       *SecretRef `spec:"cert"`
	Key        *SecretRef `spec:"key"`
	ServerName string     `spec:"server_name"`
}

// SASL configures the login.
type SASL struct {
	Mechanism SASLMechanism `spec:"mechanism,required"`
	User      string        `spec:"user,required"`
	Password  *SecretRef    `spec:"password,required"`
}

// SASLMechanism is the name of a SASL mechanism, in lower case.
type SASLMechanism string

// The SASL mechanisms.
const (
	SASLPlain       SASLMechanism = "plain"
	SASLScramSHA256 SASLMechanism = "scram-sha-256"
	SASLScramSHA512 SASLMechanism = "scram-sha-512"
)

// SecretRef says where a secret is to be found; a spec never holds one (DESIGN §12).
type SecretRef struct {
	From SecretFrom `spec:"from,required"`
	Name string     `spec:"name,required"`
}

// SecretFrom is the kind of place that holds a secret.
type SecretFrom string

// The places of secrets: an environment variable or a file of the process that needs it.
const (
	SecretEnv  SecretFrom = "env"
	SecretFile SecretFrom = "file"
)
