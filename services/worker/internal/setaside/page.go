package setaside

import (
	"slices"

	api "github.com/pondage/pondage/internal/api/worker"
)

// pageBytes bounds the values of a page; it ends early, after at least one item, when they are larger.
const pageBytes = 8 << 20

// item is a record of a page.
type item struct {
	id   identity
	doc  api.DeadLetter
	size int
}

// page keeps the first items behind a cursor, in order, each identity once.
type page struct {
	limit int
	after *identity // nil: from the first on
	items []item
	bytes int
	more  bool // there are items behind the last one
}

// wants tells whether a record of the identity would be on the page.
func (p *page) wants(id identity) bool {
	if p.after != nil && id.compare(*p.after) <= 0 {
		return false
	}
	if p.full() && id.compare(p.items[len(p.items)-1].id) > 0 {
		p.more = true
		return false
	}
	_, there := p.find(id)
	return !there
}

func (p *page) full() bool {
	return len(p.items) > 0 && (len(p.items) >= p.limit || p.bytes >= pageBytes)
}

func (p *page) find(id identity) (int, bool) {
	return slices.BinarySearchFunc(p.items, id, func(i item, id identity) int { return i.id.compare(id) })
}

// add takes an item in that is wanted. Those that no longer fit fall off the end.
func (p *page) add(i item) {
	at, _ := p.find(i.id)
	p.items = slices.Insert(p.items, at, i)
	p.bytes += i.size
	for len(p.items) > p.limit || (len(p.items) > 1 && p.bytes-p.items[len(p.items)-1].size >= pageBytes) {
		last := len(p.items) - 1
		p.bytes -= p.items[last].size
		p.items = slices.Delete(p.items, last, last+1)
		p.more = true
	}
}

// doc is the page in the form of the API.
func (p *page) doc() api.DeadLetterPage {
	out := api.DeadLetterPage{Items: make([]api.DeadLetter, len(p.items))}
	for i := range p.items {
		out.Items[i] = p.items[i].doc
	}
	if p.more {
		next := p.items[len(p.items)-1].id.cursor()
		out.NextCursor = &next
	}
	return out
}
