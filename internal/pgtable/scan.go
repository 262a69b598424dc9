package pgtable

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pondage/pondage/internal/block"
)

// scanner reads rows of Postgres into a batch.
type scanner struct {
	schema  block.Schema
	targets []any
}

func newScanner(s block.Schema) *scanner {
	sc := &scanner{schema: s}
	for _, f := range s {
		var target any
		switch f.Type.Kind {
		case block.KindBool:
			target = new(pgtype.Bool)
		case block.KindInt64:
			target = new(pgtype.Int8)
		case block.KindFloat64:
			target = new(pgtype.Float8)
		case block.KindDecimal:
			target = new(pgtype.Numeric)
		case block.KindTimestamp:
			target = new(pgtype.Timestamptz)
		case block.KindString, block.KindJSON:
			target = new(pgtype.Text)
		case block.KindInvalid:
			panic("pgtable: column without a type")
		}
		sc.targets = append(sc.targets, target)
	}
	return sc
}

func (sc *scanner) row(rows pgx.Rows, b *block.Batch) error {
	if err := rows.Scan(sc.targets...); err != nil {
		return err
	}
	for i, target := range sc.targets {
		if err := appendScanned(b.Cols[i], target); err != nil {
			return fmt.Errorf("column %s: %w", sc.schema[i].Name, err)
		}
	}
	return nil
}

func appendScanned(c *block.Column, target any) error {
	valid := true
	switch v := target.(type) {
	case *pgtype.Bool:
		if valid = v.Valid; valid {
			c.AppendBool(v.Bool)
		}
	case *pgtype.Int8:
		if valid = v.Valid; valid {
			c.AppendInt(v.Int64)
		}
	case *pgtype.Float8:
		if valid = v.Valid; valid {
			c.AppendFloat(v.Float64)
		}
	case *pgtype.Timestamptz:
		if valid = v.Valid; valid {
			c.AppendInt(v.Time.UnixMilli())
		}
	case *pgtype.Text:
		if valid = v.Valid; valid {
			c.AppendString(v.String)
		}
	case *pgtype.Numeric:
		if valid = v.Valid; valid {
			d, err := unscale(v, c.Type.Scale)
			if err != nil {
				return err
			}
			c.AppendDec(d)
		}
	}
	if !valid {
		c.AppendNull()
	}
	return nil
}

// unscale brings a numeric to the column's scale. Postgres drops trailing zeros, it never adds digits to ours.
func unscale(n *pgtype.Numeric, scale uint8) (decimal128.Num, error) {
	if n.NaN || n.InfinityModifier != pgtype.Finite {
		return decimal128.Num{}, fmt.Errorf("numeric %v is no decimal", n)
	}
	const most = block.MaxDecimalPrecision
	shift := int64(n.Exp) + int64(scale)
	if shift < 0 || shift > most || n.Int.BitLen() > decimalBits {
		return decimal128.Num{}, fmt.Errorf("numeric %sE%d does not fit scale %d", n.Int, n.Exp, scale)
	}
	v := decimal128.FromBigInt(n.Int)
	if shift == 0 {
		return v, nil
	}
	out := v.IncreaseScaleBy(int32(shift))
	if !out.FitsInPrecision(most) {
		return decimal128.Num{}, fmt.Errorf("numeric %sE%d has more than %d digits", n.Int, n.Exp, most)
	}
	return out, nil
}

// decimalBits is what a decimal128 holds beside its sign.
const decimalBits = 127
