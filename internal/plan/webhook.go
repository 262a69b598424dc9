package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/pondage/pondage/internal/spec"
)

// Webhook is a stream's webhook with its defaults filled in.
type Webhook struct {
	URL         spec.WebhookURL
	Open, Close bool // what is told
	Secret      *spec.SecretRef
	Timeout     time.Duration
	MaxEvents   int
}

// webhook fills in the webhook.
func (b *builder) webhook() {
	w := b.plan.Stream.Outputs.Webhook
	if w == nil {
		return
	}
	if b.plan.Stream.Window == nil {
		b.add(CodeNeedsWindow, "/outputs/webhook", "add a window, or write the rows to Kafka", "a webhook is told of windows that open and close")
	}
	const at = "/outputs/webhook"
	b.plan.Webhook = &Webhook{
		URL: w.URL, Secret: w.Secret, Open: slices.Contains(w.On, spec.WindowOpen), Close: len(w.On) == 0 || slices.Contains(w.On, spec.WindowClose),
		Timeout: b.elapsed(at+"/timeout", w.Timeout, DefaultWebhookTimeout), MaxEvents: int(orDefault(w.MaxEvents, DefaultWebhookEvents)),
	}
}

// Address is the webhook's address for people: where it holds a secret, the place that has it.
func (w *Webhook) Address() string {
	if ref := w.URL.Ref; ref != nil {
		return fmt.Sprintf("from %s %s", ref.From, ref.Name)
	}
	return w.URL.Text
}
