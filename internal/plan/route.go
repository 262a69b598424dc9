package plan

import (
	"strconv"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/tablehash"
)

// SourceVGroup returns the vgroup whose source task reads a partition (DESIGN §2): the partitions of a stream go around
// the vgroups, beginning at one that differs from stream to stream. The hash of a stream id is the table hash of its
// decimal text.
func SourceVGroup(id ident.StreamID, p ident.Partition, vgroups int) ident.VGroup {
	begin := tablehash.Sum([]byte(strconv.FormatInt(int64(id), 10)))
	return ident.VGroup((uint64(p) + uint64(begin)) % uint64(vgroups))
}

// Naming says how the stream names the subtables of its groups.
func (p *Plan) Naming() tablehash.Naming {
	switch {
	case p.Subtable != nil:
		return tablehash.NamingExpression
	case p.ByTable:
		return tablehash.NamingTable
	default:
		return tablehash.NamingAutomatic
	}
}

// Router finds the subtable name of a group and the vgroup that the name's hash lies in. It belongs to one task.
type Router struct {
	naming   tablehash.Naming
	subtable *expr.Program // nil without SUBTABLE
	cache    *tablehash.Cache
	vgroups  int
	key      []byte
	row      [1]int32
	out      expr.Result
}

// NewRouter returns a router of the stream. The target in generated names is the stream's name: it is unique in the
// cluster and never changes.
func (p *Plan) NewRouter() *Router {
	namer, err := tablehash.NewNamer(tablehash.CurrentNaming, p.Naming(), p.Stream.Name)
	if err != nil {
		panic("plan: " + err.Error()) // the current version is known
	}
	r := &Router{naming: p.Naming(), cache: tablehash.NewCache(namer, p.Affix, tablehash.DefaultCacheSize), vgroups: p.Env.VGroups}
	if p.Subtable != nil {
		r.subtable = expr.Compile(p.Subtable)
	}
	return r
}

// Name returns the subtable name of the group that the row of the key columns belongs to, and its hash. A SUBTABLE that
// is null or an error for a group names it automatically: every group has a name. keys are columns as KeySchema; with
// none there is one group.
func (r *Router) Name(keys []*block.Column, row int) tablehash.Named {
	r.key = tablehash.AppendKey(r.key[:0], keys, row)
	named, err := r.cache.Name(r.value(keys, row), r.key)
	if err != nil {
		// Only a table name that is empty or too long cannot name a group; the source lets none in.
		panic("plan: " + err.Error())
	}
	return named
}

// VGroup returns the vgroup of the group's aggregating or sink task.
func (r *Router) VGroup(keys []*block.Column, row int) ident.VGroup {
	return tablehash.VGroupOf(r.Name(keys, row).Hash, r.vgroups)
}

// value is the table name or the value of SUBTABLE, nil for null.
func (r *Router) value(keys []*block.Column, row int) []byte {
	if r.naming == tablehash.NamingTable {
		return keys[0].Bytes(row)
	}
	if r.subtable == nil {
		return nil
	}
	r.row[0] = int32(row)
	r.subtable.EvalRows(keys, row+1, r.row[:], &r.out)
	if r.out.Col.IsNull(row) {
		return nil
	}
	return r.out.Col.Bytes(row)
}
