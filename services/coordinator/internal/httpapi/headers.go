package httpapi

import (
	"context"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// etag is the ETag of a resource's version.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// request reads what every change carries. A key is nil for operations that have none.
func request(ctx context.Context, key, ifMatch *string) (control.Request, error) {
	r := control.Request{Principal: httpserver.PrincipalOf(ctx).Name, IdempotencyKey: value(key)}
	tag := strings.TrimSpace(value(ifMatch))
	if tag == "" || tag == "*" {
		return r, nil
	}
	text, opened := strings.CutPrefix(tag, `"`)
	text, closed := strings.CutSuffix(text, `"`)
	version, err := strconv.ParseInt(text, 10, 64)
	if !opened || !closed || err != nil || version <= 0 {
		// Not one of ours, so the resource cannot have it.
		return r, problem.New(problem.CodeVersionMismatch, "If-Match %s is not an ETag of this resource", tag)
	}
	r.IfMatch = version
	return r, nil
}

// page reads the parameters of a list.
func page(limit *int32, cursor *string) control.Page {
	return control.Page{Limit: int(value(limit)), Cursor: value(cursor)}
}

// value is what p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// orNull is a required nullable member: null for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// convert applies f to each item. The result is never nil: an empty list is [], not null (T60).
func convert[A, B any](items []A, f func(A) B) []B {
	out := make([]B, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}
