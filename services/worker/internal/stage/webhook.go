package stage

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/notify"
	"github.com/pondage/pondage/services/worker/internal/sink"
)

// codeNotAllowed is the code of a webhook whose host the node's configuration does not allow.
const codeNotAllowed = "webhook_not_allowed"

// webhook gives a task its webhook.
func (s *starting) webhook(w *plan.Webhook, env sink.Env) sink.Output {
	schema := pipeline.EventSchema(s.plan)
	form := notify.NewForm(s.r.engine.Cluster.Name, s.r.id, schema, pipeline.EventKey(schema))
	return sink.NewWebhook(func() (sink.Hook, error) { return s.hook(w) }, form, w.MaxEvents, env)
}

// hook reads the secrets: where one is not there yet, it may come.
func (s *starting) hook(w *plan.Webhook) (*notify.Hook, error) {
	e := s.r.engine
	c := notify.Config{
		Cluster: string(e.Cluster.Name), Stream: s.r.name, URL: w.URL.Text, Timeout: w.Timeout, Transport: http.DefaultTransport, Hosts: e.WebhookHosts,
	}
	for _, secret := range []struct {
		what string
		ref  *spec.SecretRef
		into *string
	}{{"address", w.URL.Ref, &c.URL}, {"secret", w.Secret, &c.Secret}} {
		if secret.ref == nil {
			continue
		}
		text, err := e.Hub.Secret(*secret.ref)
		if err != nil {
			return nil, fmt.Errorf("the webhook's %s: %w", secret.what, err)
		}
		*secret.into = text
	}
	h, err := notify.New(c)
	if errors.Is(err, notify.ErrNotAllowed) {
		return nil, &sink.Stop{Code: codeNotAllowed, Err: err}
	}
	return h, err
}
