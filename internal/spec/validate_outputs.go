package spec

import (
	"fmt"
	"strings"

	"github.com/pondage/pondage/internal/decode"
)

const (
	maxTopic = 249 // Kafka's limit for a topic's name
	maxAffix = 191 // DESIGN §3: one less than the longest table name
)

func (d *decoder) checkOutputs(o Outputs) {
	if p := o.Postgres; p != nil {
		d.checkTable("/outputs/postgres/table", p.Table)
		checkWord(d, "/outputs/postgres/delivery", p.Delivery, []Delivery{DeliveryUpsert, DeliveryTransactional})
		d.checkAffix("/outputs/postgres", p.Affix)
	}
	if k := o.Kafka; k != nil {
		d.checkTopic("/outputs/kafka/topic", k.Topic)
		checkWord(d, "/outputs/kafka/delivery", k.Delivery, []Delivery{DeliveryAtLeastOnce, DeliveryTransactional})
		d.checkConnection("/outputs/kafka", k.Connection)
		d.checkAffix("/outputs/kafka", k.Affix)
	}
	if o.Webhook != nil {
		d.checkWebhook("/outputs/webhook", o.Webhook)
	}
	if o.Postgres != nil && o.Kafka != nil && o.Postgres.Affix != (Affix{}) && o.Kafka.Affix != (Affix{}) && o.Postgres.Affix != o.Kafka.Affix {
		d.fault(CodeConflict, "/outputs/kafka/hash_prefix", "give both outputs the same affix, or leave one out",
			"hash_prefix and hash_suffix differ between the outputs: a group has one aggregating task")
	}
}

// checkAffix holds the rule of DESIGN §3.
func (d *decoder) checkAffix(at string, a Affix) {
	for _, v := range []struct {
		name  string
		value int64
	}{{"hash_prefix", a.HashPrefix}, {"hash_suffix", a.HashSuffix}} {
		if v.value < -maxAffix || v.value > maxAffix {
			d.fault(CodeInvalidValue, at+"/"+v.name, "", "want −%d to %d, found %d", maxAffix, maxAffix, v.value)
		}
	}
	if (a.HashPrefix < 0 && a.HashSuffix > 0) || (a.HashPrefix > 0 && a.HashSuffix < 0) {
		d.fault(CodeConflict, at+"/hash_suffix", "give both the same sign", "hash_prefix %d and hash_suffix %d have different signs", a.HashPrefix, a.HashSuffix)
	}
}

// checkTable takes `name` and `schema.name`. The schema pondage is ours (DESIGN §9).
func (d *decoder) checkTable(at, name string) {
	if name == "" {
		return // missing: already a fault
	}
	parts := strings.Split(name, ".")
	ok := len(parts) <= 2
	for _, p := range parts {
		ok = ok && decode.PlainName(p) && len(p) <= maxName
	}
	switch {
	case !ok:
		d.fault(CodeInvalidName, at, fmt.Sprintf("name or schema.name of letters, digits and _, each at most %d bytes", maxName), "%q is not a table name", name)
	case len(parts) == 2 && parts[0] == "pondage":
		d.fault(CodeInvalidName, at, "choose another schema", "the schema pondage is reserved")
	}
}

// checkTopic holds Kafka's rule for topic names.
func (d *decoder) checkTopic(at, name string) {
	if name == "" {
		return // missing: already a fault
	}
	ok := len(name) <= maxTopic && name != "." && name != ".."
	for _, c := range name {
		ok = ok && (c == '.' || c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
	}
	if !ok {
		d.fault(CodeInvalidName, at, fmt.Sprintf("letters, digits, '.', '_' and '-', at most %d", maxTopic), "%q is not a Kafka topic name", name)
	}
}

func (d *decoder) checkConnection(at string, c Connection) {
	for i, broker := range c.Brokers {
		if host, port, ok := strings.Cut(broker, ":"); !ok || host == "" || port == "" {
			d.fault(CodeInvalidValue, fmt.Sprintf("%s/brokers/%d", at, i), "host:port", "%q is not the address of a broker", broker)
		}
	}
	if c.TLS != nil && (c.TLS.Cert == nil) != (c.TLS.Key == nil) {
		d.fault(CodeConflict, at+"/tls", "give both or none", "a client certificate needs cert and key")
	}
	if c.SASL != nil {
		checkWord(d, at+"/sasl/mechanism", c.SASL.Mechanism, []SASLMechanism{SASLPlain, SASLScramSHA256, SASLScramSHA512})
	}
}
