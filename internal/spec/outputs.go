package spec

// Outputs says where results land; at most one of each kind. HTTP results always exist.
type Outputs struct {
	Postgres *Postgres `spec:"postgres"`
	Kafka    *KafkaOut `spec:"kafka"`
	Webhook  *Webhook  `spec:"webhook"`
}

// Postgres is a table, made from the result schema.
type Postgres struct {
	// Table is `name` or `schema.name`.
	Table    string   `spec:"table,required"`
	Delivery Delivery `spec:"delivery"`
	// DSN is the connection string of the database; absent: the cluster's.
	DSN *SecretRef `spec:"dsn"`
	Affix
}

// KafkaOut is an output topic.
type KafkaOut struct {
	Topic    string   `spec:"topic,required"`
	Delivery Delivery `spec:"delivery"`
	Connection
	Affix
}

// Affix leaves a prefix and a suffix of the subtable name out of the hash that routes a group, or hashes only these
// (DESIGN §3). A stream has one routing: where both outputs give an affix, it is the same.
type Affix struct {
	HashPrefix int64 `spec:"hash_prefix"`
	HashSuffix int64 `spec:"hash_suffix"`
}

// Affix returns the stream's one affix.
func (o Outputs) Affix() Affix {
	if o.Postgres != nil && o.Postgres.Affix != (Affix{}) {
		return o.Postgres.Affix
	}
	if o.Kafka != nil {
		return o.Kafka.Affix
	}
	return Affix{}
}

// Delivery is what a sink promises. Empty is the first one that its kind has.
type Delivery string

// The deliveries: upsert or transactional for Postgres, at_least_once or transactional for Kafka.
const (
	DeliveryUpsert        Delivery = "upsert"
	DeliveryAtLeastOnce   Delivery = "at_least_once"
	DeliveryTransactional Delivery = "transactional"
)
