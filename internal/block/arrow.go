package block

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// A json column is an Arrow utf8 column that says so in its metadata, so that any Arrow reader can read it and we know
// it again.
const (
	metaTypeKey  = "pondage.type"
	metaTypeJSON = "json"
	// timestampZone is the zone that Arrow shows with our timestamps: they are instants.
	timestampZone = "UTC"
)

// arrowType maps a column type to its Arrow form.
func arrowType(t Type) (arrow.DataType, error) {
	switch t.Kind {
	case KindBool:
		return arrow.FixedWidthTypes.Boolean, nil
	case KindInt64:
		return arrow.PrimitiveTypes.Int64, nil
	case KindFloat64:
		return arrow.PrimitiveTypes.Float64, nil
	case KindDecimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
	case KindString, KindJSON:
		return arrow.BinaryTypes.String, nil
	case KindTimestamp:
		return &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: timestampZone}, nil
	case KindInvalid:
	}
	return nil, fmt.Errorf("type %s has no Arrow form", t)
}

// arrowSchema maps a schema to its Arrow form. All columns are nullable.
func arrowSchema(s Schema) (*arrow.Schema, error) {
	fields := make([]arrow.Field, len(s))
	for i, f := range s {
		t, err := arrowType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %d (%s): %w", i, f.Name, err)
		}
		fields[i] = arrow.Field{Name: f.Name, Type: t, Nullable: true}
		if f.Type.Kind == KindJSON {
			fields[i].Metadata = arrow.NewMetadata([]string{metaTypeKey}, []string{metaTypeJSON})
		}
	}
	return arrow.NewSchema(fields, nil), nil
}
