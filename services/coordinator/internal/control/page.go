package control

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// size returns the number of items to list.
func (p Page) size() (int, error) {
	switch {
	case p.Limit == 0:
		return DefaultPage, nil
	case p.Limit < 0 || p.Limit > MaxPage:
		return 0, errorf(CodeBadLimit, "limit %d: want 1 to %d", p.Limit, MaxPage)
	}
	return p.Limit, nil
}

// A cursor is the last listed key behind a mark that tells lists apart; it is opaque to users.
func cursor(mark, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(mark + key))
}

func parseCursor(mark, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) <= len(mark) || string(raw[:len(mark)]) != mark {
		return "", errorf(CodeBadCursor, "the cursor is not one of this list").hinted("leave it out to begin anew")
	}
	return string(raw[len(mark):]), nil
}

const (
	nameCursor  = "n:"
	eventCursor = "e:"
)

// listByName lists what has names, in their order.
func listByName[T any](ctx context.Context, s *Service, p Page,
	read func(ctx context.Context, r store.Reader, after string, limit int) ([]T, error), name func(T) string,
) (List[T], error) {
	limit, err := p.size()
	if err != nil {
		return List[T]{}, err
	}
	after, err := parseCursor(nameCursor, p.Cursor)
	if err != nil {
		return List[T]{}, err
	}
	out := List[T]{Items: []T{}}
	err = s.Store.View(ctx, func(r store.Reader) error {
		items, err := read(ctx, r, after, limit+1) // one more tells whether there is a next page
		if len(items) > limit {
			items = items[:limit]
			out.Next = cursor(nameCursor, name(items[limit-1]))
		}
		out.Items = append(out.Items, items...)
		return err
	})
	return out, s.failure(err, CodeBusy)
}

// ListEvents lists events, newest first.
func (s *Service) ListEvents(ctx context.Context, stream string, p Page) (List[Event], error) {
	limit, err := p.size()
	if err != nil {
		return List[Event]{}, err
	}
	key, err := parseCursor(eventCursor, p.Cursor)
	if err != nil {
		return List[Event]{}, err
	}
	f := store.EventFilter{Stream: stream, Limit: limit + 1}
	if key != "" {
		if f.Before, err = strconv.ParseInt(key, 10, 64); err != nil {
			return List[Event]{}, errorf(CodeBadCursor, "the cursor is not one of this list")
		}
	}
	out := List[Event]{Items: []Event{}}
	err = s.Store.View(ctx, func(r store.Reader) error {
		items, err := r.Events(ctx, f)
		if len(items) > limit {
			items = items[:limit]
			out.Next = cursor(eventCursor, strconv.FormatInt(items[limit-1].ID, 10))
		}
		out.Items = append(out.Items, items...)
		return err
	})
	return out, s.failure(err, CodeBusy)
}
