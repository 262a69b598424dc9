package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Framing of an Arrow IPC stream: each message is ipcContinuation, the metadata length, the metadata (padded), the body.
// The stream ends with a length of 0.
const (
	ipcContinuation = 0xffffffff
	ipcFrameLen     = 2 * intLen
)

// Slots of the tables and values of the enums of Arrow's Message.fbs and Schema.fbs.
const (
	messageHeaderType, messageHeader, messageBodyLength = 1, 2, 3

	headerSchema, headerRecordBatch = 1, 3

	schemaEndianness, schemaFields = 0, 1

	fieldName, fieldTypeType, fieldType, fieldDictionary, fieldMetadata = 0, 2, 3, 4, 6

	keyValueKey, keyValueValue = 0, 1

	batchLength, batchNodes, batchBuffers, batchCompression = 0, 1, 2, 3

	compressionCodec, compressionMethod = 0, 1

	typeInt, typeFloat, typeUtf8, typeBool, typeDecimal, typeTimestamp = 2, 3, 5, 6, 7, 10

	structLen = 2 * longLen // of a FieldNode and of a Buffer: two longs
)

// message is one message of the stream: its header table within the metadata, and the body.
type message struct {
	meta       []byte
	headerType byte
	header     int
	body       []byte
}

// readMessage cuts the first message off value.
func readMessage(value []byte) (m message, rest []byte, err error) {
	if len(value) < ipcFrameLen || binary.LittleEndian.Uint32(value) != ipcContinuation {
		return m, nil, errors.New("no message begins here")
	}
	metaLen := int64(binary.LittleEndian.Uint32(value[intLen:]))
	value = value[ipcFrameLen:]
	if metaLen < intLen || metaLen > int64(len(value)) {
		return m, nil, fmt.Errorf("metadata of %d bytes, %d are left", metaLen, len(value))
	}
	m.meta, value = value[:metaLen], value[metaLen:]

	f := &flat{buf: m.meta}
	table := f.follow(0)
	if at, ok := f.field(table, messageHeaderType); ok {
		m.headerType = f.byte(at)
	}
	if at, ok := f.field(table, messageHeader); ok {
		m.header = f.follow(at)
	}
	var bodyLen int64
	if at, ok := f.field(table, messageBodyLength); ok {
		bodyLen = f.long(at)
	}
	if err := f.err(); err != nil {
		return m, nil, err
	}
	if bodyLen < 0 || bodyLen > int64(len(value)) {
		return m, nil, fmt.Errorf("body of %d bytes, %d are left", bodyLen, len(value))
	}
	m.body = value[:bodyLen]
	return m, value[bodyLen:], nil
}

// readEnd wants the end mark of the stream and nothing after it.
func readEnd(rest []byte) error {
	if len(rest) != ipcFrameLen || binary.LittleEndian.Uint32(rest) != ipcContinuation || binary.LittleEndian.Uint32(rest[intLen:]) != 0 {
		return fmt.Errorf("%d bytes after the record batch are not the end of the stream", len(rest))
	}
	return nil
}

// readSchema reads the schema message; a type that is not one of ours is an error.
func readSchema(m message) (Schema, error) {
	if m.headerType != headerSchema {
		return nil, fmt.Errorf("message type %d is not a schema", m.headerType)
	}
	f := &flat{buf: m.meta}
	if at, ok := f.field(m.header, schemaEndianness); ok && f.short(at) != 0 {
		return nil, errors.New("big-endian data")
	}
	fields, err := f.vector(m.header, schemaFields, intLen)
	if err != nil {
		return nil, err
	}
	schema := make(Schema, 0, fields.len)
	for fields.len > 0 {
		at, err := fields.next(f)
		if err != nil {
			return nil, err
		}
		field, err := f.schemaField(f.follow(at))
		if err != nil {
			return nil, fmt.Errorf("field %d: %w", len(schema), err)
		}
		if schema.Index(field.Name) >= 0 {
			return nil, fmt.Errorf("two fields %q", field.Name)
		}
		schema = append(schema, field)
	}
	return schema, f.err()
}

func (f *flat) schemaField(table int) (Field, error) {
	field := Field{Name: f.text(table, fieldName)}
	if !utf8.ValidString(field.Name) {
		return field, errors.New("name is not UTF-8")
	}
	if _, ok := f.field(table, fieldDictionary); ok {
		return field, fmt.Errorf("%q is dictionary encoded", field.Name)
	}
	kind, body := byte(0), 0
	if at, ok := f.field(table, fieldTypeType); ok {
		kind = f.byte(at)
	}
	if at, ok := f.field(table, fieldType); ok {
		body = f.follow(at)
	}
	if err := f.err(); err != nil {
		return field, err
	}
	isJSON, err := f.hasJSONMark(table)
	if err != nil {
		return field, err
	}
	t, ok := f.columnType(kind, body)
	if t == String && isJSON {
		t = JSON
	}
	field.Type = t
	if err := f.err(); err != nil {
		return field, err
	}
	if !ok || !t.Valid() {
		return field, fmt.Errorf("%q has an Arrow type that is not ours (%d)", field.Name, kind)
	}
	return field, nil
}

// hasJSONMark looks for our mark in the metadata of a field.
func (f *flat) hasJSONMark(table int) (bool, error) {
	pairs, err := f.vector(table, fieldMetadata, intLen)
	if err != nil {
		return false, err
	}
	for pairs.len > 0 {
		at, err := pairs.next(f)
		if err != nil {
			return false, err
		}
		pair := f.follow(at)
		if f.text(pair, keyValueKey) == metaTypeKey && f.text(pair, keyValueValue) == metaTypeJSON {
			return true, nil
		}
	}
	return false, f.err()
}

// columnType is the inverse of arrowType but for the json mark.
func (f *flat) columnType(kind byte, table int) (Type, bool) {
	// number returns the int in a slot of the type's table; def when it is left out.
	number := func(slot, def int) int {
		if at, ok := f.field(table, slot); ok {
			return f.int(at)
		}
		return def
	}
	short := func(slot int) int {
		if at, ok := f.field(table, slot); ok {
			return f.short(at)
		}
		return 0
	}
	switch kind {
	case typeBool:
		return Bool, true
	case typeInt:
		at, ok := f.field(table, 1) // is_signed
		return Int64, number(0, 0) == 64 && ok && f.byte(at) == 1
	case typeFloat:
		return Float64, short(0) == 2 // DOUBLE
	case typeDecimal:
		precision, scale := number(0, 0), number(1, 0)
		if precision < 1 || precision > MaxDecimalPrecision || scale < 0 || scale > precision || number(2, 128) != 128 {
			return Type{}, false
		}
		return Decimal(uint8(precision), uint8(scale)), true
	case typeUtf8:
		return String, true
	case typeTimestamp:
		return Timestamp, short(0) == 1 && f.text(table, 1) == timestampZone // MILLISECOND
	}
	return Type{}, false
}

// newBatchSource reads the record batch message up to its lists of nodes and buffers.
func newBatchSource(m message, d *Decoder) (*batchSource, error) {
	if m.headerType != headerRecordBatch {
		return nil, fmt.Errorf("message type %d is not a record batch", m.headerType)
	}
	f := &flat{buf: m.meta}
	s := &batchSource{d: d, body: m.body, meta: f}
	var rows int64
	if at, ok := f.field(m.header, batchLength); ok {
		rows = f.long(at)
	}
	if rows < 0 || rows > MaxDecodedBytes {
		return nil, fmt.Errorf("%d rows", rows)
	}
	s.rows = int(rows)
	var err error
	if s.nodes, err = f.vector(m.header, batchNodes, structLen); err != nil {
		return nil, err
	}
	if s.buffers, err = f.vector(m.header, batchBuffers, structLen); err != nil {
		return nil, err
	}
	if s.codec, err = f.bodyCodec(m.header); err != nil {
		return nil, err
	}
	return s, f.err()
}

func (f *flat) bodyCodec(batch int) (codec, error) {
	at, ok := f.field(batch, batchCompression)
	if !ok {
		return codecNone, f.err()
	}
	table := f.follow(at)
	value := func(slot int) byte {
		if at, ok := f.field(table, slot); ok {
			return f.byte(at)
		}
		return 0
	}
	c, method := value(compressionCodec), value(compressionMethod)
	if c > byte(codecZSTD-codecLZ4) || method != 0 {
		return codecNone, fmt.Errorf("body compression %d by method %d", c, method)
	}
	return codecLZ4 + codec(c), f.err()
}

// nextNode returns the next column's metadata; every column has the rows of the batch.
func (s *batchSource) nextNode() (node, error) {
	at, err := s.nodes.next(s.meta)
	if err != nil {
		return node{}, fmt.Errorf("node: %w", err)
	}
	n := node{rows: s.meta.long(at), nulls: s.meta.long(at + longLen)}
	if n.rows != int64(s.rows) || n.nulls < 0 || n.nulls > n.rows {
		return n, fmt.Errorf("%d rows, %d of them null, in a batch of %d", n.rows, n.nulls, s.rows)
	}
	return n, s.meta.err()
}

// end wants that every node and buffer was asked for.
func (s *batchSource) end() error {
	if s.nodes.len != 0 || s.buffers.len != 0 {
		return fmt.Errorf("%d nodes and %d buffers too many", s.nodes.len, s.buffers.len)
	}
	return nil
}
