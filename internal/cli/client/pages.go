package client

import (
	"encoding/json"
	"net/http"
)

// pageSize is how many items are asked for at once: the most that the API gives.
const pageSize = 1000

// Items are the items of a list, as they came.
type Items []json.RawMessage

// JSON is the list in the form of the API, without a cursor: it is complete.
func (items Items) JSON() []byte {
	out := []byte(`{"items":[`)
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, `]}`...)
}

// Pages reads a list to its end, or to the limit (0: none). ask asks for a page; its arguments have the form of the
// generated parameters.
func Pages(limit int, ask func(size *int32, cursor *string) (*http.Response, error)) (Items, error) {
	var items Items
	var cursor *string
	for {
		size := int32(pageSize)
		if limit > 0 {
			size = int32(min(pageSize, limit-len(items)))
		}
		page, _, err := Decode[struct {
			Items Items   `json:"items"`
			Next  *string `json:"next_cursor"`
		}](ask(&size, cursor))
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Next == nil || limit > 0 && len(items) >= limit {
			return items, nil
		}
		cursor = page.Next
	}
}

// As reads every item as a T.
func As[T any](items Items) ([]T, error) {
	out := make([]T, len(items))
	for i, raw := range items {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
