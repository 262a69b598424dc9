package spec

import "github.com/pondage/pondage/internal/sql"

func (c *converter) createSource(st *sql.CreateSource) *node {
	root := newObject().located(st.At)
	c.put(root, "name", name(st.Name))
	if st.Columns != nil {
		columns := newArray().located(st.At)
		for _, def := range st.Columns {
			columns.items = append(columns.items, column(def))
		}
		c.put(root, "columns", columns)
	}
	c.options(root, st.With)
	return root
}

func column(def sql.ColumnDef) *node {
	out := newObject().located(def.At)
	out.set("name", name(def.Name))
	out.set("type", newString(def.Type.String()).located(def.At))
	if def.Path != "" {
		out.set("path", newString(def.Path).located(def.At))
	}
	return out
}
