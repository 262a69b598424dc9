package state

import "github.com/pondage/pondage/internal/manifest"

// Chain is the files that make up an operator's state, the oldest first: a base and deltas.
type Chain struct {
	files        []manifest.File
	base, deltas int64 // bytes
}

// NewChain returns the chain that a manifest names for the operator.
func NewChain(files []manifest.File, operator string) *Chain {
	c := &Chain{}
	for _, f := range files {
		if f.Of == operator && (f.Role == manifest.RoleBase || f.Role == manifest.RoleDelta) {
			c.Add(f)
		}
	}
	return c
}

// maxDeltas bounds the files that a restore opens and a manifest names, where little of a large state changes. The base that it
// brings about costs one part in so many of the state a checkpoint.
const maxDeltas = 256

// Next is what the next file is to be: a base where there is none yet, or where the deltas outweigh it or are too many.
func (c *Chain) Next() manifest.Role {
	if len(c.files) == 0 || c.deltas > c.base || len(c.files) > maxDeltas {
		return manifest.RoleBase
	}
	return manifest.RoleDelta
}

// Add appends a file that has become durable. A base begins the chain anew.
func (c *Chain) Add(f manifest.File) {
	if f.Role == manifest.RoleBase {
		c.files, c.base, c.deltas = nil, f.Bytes, 0
	} else {
		c.deltas += f.Bytes
	}
	c.files = append(c.files, f)
}

// Files lists the files, the oldest first.
func (c *Chain) Files() []manifest.File { return c.files }
