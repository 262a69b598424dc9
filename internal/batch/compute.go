package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Compute reads the records once and returns the answer to each query, in their order.
func Compute(lines io.Reader, queries ...*Query) ([]*Rows, error) {
	var answers []*answer
	for _, q := range queries {
		answers = append(answers, &answer{query: q, groups: map[string]*group{}, rows: NewRows(q.Columns)})
	}
	in := bufio.NewReader(lines)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := take(answers, line); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
		if err == io.EOF {
			break
		}
	}
	rows := make([]*Rows, len(answers))
	for i, a := range answers {
		rows[i] = a.finish()
	}
	return rows, nil
}

func take(answers []*answer, line []byte) error {
	members, err := object(line)
	if err != nil {
		return err
	}
	for _, a := range answers {
		if err := a.take(members); err != nil {
			return fmt.Errorf("query %s: %w", a.query.Name, err)
		}
	}
	return nil
}

// answer is a query being computed.
type answer struct {
	query  *Query
	groups map[string]*group
	rows   *Rows
}

// group is the rows of one group in one window.
type group struct {
	cells []cell // by column
	span  Span
}

// cell is a column of a group.
type cell struct {
	member string // the text of a group key
	n      int64
	sum    big.Rat
	best   *big.Rat // of Min and Max
}

func (a *answer) take(r Record) error {
	if a.query.Where != nil && !a.query.Where(r) {
		return nil
	}
	at, err := r.time(a.query.Time)
	if err != nil {
		return err
	}
	if a.query.Window == nil {
		return a.takeRow(r, at)
	}
	keys := make([]string, len(a.query.Columns))
	for i, c := range a.query.Columns {
		if c.Of == OfMember {
			if keys[i], err = Value(c.Type, r.Get(c.Path)); err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
	}
	name := strings.Join(keys, "\x00")
	for _, span := range a.query.Window.Spans(at) {
		id := name + "\x00" + strconv.FormatInt(span.Start.UnixMilli(), 10)
		g := a.groups[id]
		if g == nil {
			g = &group{cells: make([]cell, len(keys)), span: span}
			for i := range keys {
				g.cells[i].member = keys[i]
			}
			a.groups[id] = g
		}
		if err := g.add(a.query.Columns, r); err != nil {
			return err
		}
	}
	return nil
}

// takeRow is the query without window.
func (a *answer) takeRow(r Record, at time.Time) error {
	values := make([]string, len(a.query.Columns))
	for i, c := range a.query.Columns {
		if c.Of == OfTime {
			values[i] = timeText(at)
			continue
		}
		var err error
		if values[i], err = Value(c.Type, r.Get(c.Path)); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	a.rows.Add(values)
	return nil
}

func (g *group) add(columns []Column, r Record) error {
	for i, c := range columns {
		cell := &g.cells[i]
		if c.Of == OfRows {
			cell.n++
			continue
		}
		if c.Of < OfCount {
			continue
		}
		v := r.Get(c.Path)
		if v == nil {
			continue
		}
		cell.n++
		if c.Of == OfCount {
			continue
		}
		n, ok := v.(json.Number)
		if !ok {
			return fmt.Errorf("column %s: %v is no number", c.Name, v)
		}
		x, err := exact(n)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		cell.add(c.Of, x)
	}
	return nil
}

func (c *cell) add(of Of, x *big.Rat) {
	switch {
	case of == OfSum || of == OfAvg:
		c.sum.Add(&c.sum, x)
	case c.best == nil, of == OfMin && x.Cmp(c.best) < 0, of == OfMax && x.Cmp(c.best) > 0:
		c.best = x
	}
}

// finish turns what was gathered into rows.
func (a *answer) finish() *Rows {
	for _, g := range a.groups {
		values := make([]string, len(a.query.Columns))
		for i, c := range a.query.Columns {
			values[i] = g.value(c, &g.cells[i])
		}
		a.rows.Add(values)
	}
	return a.rows
}

func (g *group) value(c Column, x *cell) string {
	switch c.Of {
	case OfMember:
		return x.member
	case OfStart:
		return timeText(g.span.Start)
	case OfEnd:
		return timeText(g.span.End)
	case OfRows, OfCount:
		return strconv.FormatInt(x.n, 10)
	case OfSum:
		return numberText(c.Type, &x.sum, x.n)
	case OfAvg:
		if x.n == 0 {
			return null
		}
		return numberText(c.Type, new(big.Rat).Quo(&x.sum, new(big.Rat).SetInt64(x.n)), x.n)
	default:
		return numberText(c.Type, x.best, x.n)
	}
}

// numberText is the text of an exact result of n values, rounded once.
func numberText(t Type, v *big.Rat, n int64) string {
	if n == 0 {
		return null
	}
	if t == TypeFloat {
		f, _ := v.Float64()
		return floatText(f)
	}
	return v.RatString()
}
