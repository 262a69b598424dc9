package tablehash

// DefaultCacheSize is the number of groups whose names a task keeps (DESIGN §3).
const DefaultCacheSize = 1024

// Named is a group's subtable name and the hash of it that routes the group's rows.
type Named struct {
	Name string
	Hash uint32
}

// Cache keeps the names of the groups used last, so that a name is built once a group and not once a block. It is keyed
// by the encoding: two groups with one id keep their own names.
type Cache struct {
	namer   Namer
	affix   Affix
	index   map[string]int // encoding → entry
	entries []cacheEntry   // a ring by prev and next; entry 0 is its anchor
	limit   int
	scratch []byte
}

type cacheEntry struct {
	named      Named
	key        string
	prev, next int
}

// NewCache returns a cache of at most size names, at least one.
func NewCache(n Namer, a Affix, size int) *Cache {
	return &Cache{namer: n, affix: a, index: make(map[string]int), entries: make([]cacheEntry, 1), limit: max(size, 1)}
}

// Name returns the name and hash of a group; the arguments and errors are those of Namer.Append. It does not allocate
// for a group that is in the cache.
func (c *Cache) Name(value, key []byte) (Named, error) {
	if i, ok := c.index[string(key)]; ok {
		c.unlink(i)
		c.linkFirst(i)
		return c.entries[i].named, nil
	}
	name, err := c.namer.Append(c.scratch[:0], value, key)
	if err != nil {
		return Named{}, err
	}
	c.scratch = name
	i := c.slot()
	e := &c.entries[i]
	e.named, e.key = Named{Name: string(name), Hash: c.affix.Sum(name)}, string(key)
	c.index[e.key] = i
	c.linkFirst(i)
	return e.named, nil
}

// slot returns an unlinked entry: a new one, or the one not used for longest.
func (c *Cache) slot() int {
	if len(c.entries) <= c.limit {
		c.entries = append(c.entries, cacheEntry{})
		return len(c.entries) - 1
	}
	last := c.entries[0].prev
	c.unlink(last)
	delete(c.index, c.entries[last].key)
	return last
}

func (c *Cache) unlink(i int) {
	e := &c.entries[i]
	c.entries[e.prev].next, c.entries[e.next].prev = e.next, e.prev
}

func (c *Cache) linkFirst(i int) {
	first := c.entries[0].next
	c.entries[i].prev, c.entries[i].next = 0, first
	c.entries[first].prev, c.entries[0].next = i, i
}

// Claims remembers which group has which exact name. All groups with one name are routed to one task, which asks here:
// a second group with a name is an error of its rows, subtable_collision.
type Claims struct {
	owner map[string]string // name → encoding
}

// Take tells whether the name is the group's: nobody has it yet, or the group itself.
func (c *Claims) Take(name string, key []byte) bool {
	if owner, taken := c.owner[name]; taken {
		return owner == string(key)
	}
	if c.owner == nil {
		c.owner = make(map[string]string)
	}
	c.owner[name] = string(key)
	return true
}

// Release gives a name back when its group's last state is gone.
func (c *Claims) Release(name string, key []byte) {
	if c.owner[name] == string(key) {
		delete(c.owner, name)
	}
}
