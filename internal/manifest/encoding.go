package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pondage/pondage/internal/ident"
)

// Version is what this binary writes. It reads this one and the one before, once there is one.
const Version = 1

const magic = "PONDAGE-MANIFEST"

// MaxBytes is the largest manifest: the clocks of some hundred thousand tables fit. What claims to be larger is damaged.
const MaxBytes = 256 << 20

// Errors of Decode; use errors.Is.
var (
	// ErrDamaged says that the bytes are not those that were written.
	ErrDamaged = errors.New("the manifest is damaged")
	// ErrVersion says that a newer binary has written it.
	ErrVersion = errors.New("the manifest is of a version that this binary does not read")
)

// Encode returns the manifest's bytes and its id.
func (m *Manifest) Encode() (text []byte, id Hash) {
	body, err := json.Marshal(m)
	if err != nil {
		panic("manifest: plain members cannot be encoded: " + err.Error())
	}
	body = append(body, '\n')
	sum := sha256.Sum256(body)
	text = append(fmt.Appendf(nil, "%s %d %s\n", magic, Version, Hash(sum)), body...)
	return text, sha256.Sum256(text)
}

// Decode reads what Encode has written. Errors: ErrDamaged, ErrVersion, with what is wrong.
func Decode(text []byte) (*Manifest, error) {
	head, body, found := bytes.Cut(text, []byte{'\n'})
	if !found {
		return nil, fmt.Errorf("%w: its first line has no end", ErrDamaged)
	}
	var version int
	var sum string
	if n, err := fmt.Sscanf(string(head), magic+" %d %s", &version, &sum); err != nil || n != 2 {
		return nil, fmt.Errorf("%w: its first line is no manifest's", ErrDamaged)
	}
	if version != Version {
		return nil, fmt.Errorf("%w: %d, this binary reads %d", ErrVersion, version, Version)
	}
	if Hash(sha256.Sum256(body)).String() != sum {
		return nil, fmt.Errorf("%w: its checksum does not fit", ErrDamaged)
	}
	// The checksum is right: what is wrong from here on was written so.
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	m := &Manifest{}
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something stands behind it", ErrDamaged)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return m, nil
}

// Validate tells what is wrong with a manifest; nil when nothing is.
func (m *Manifest) Validate() error {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if m.Cluster == "" || m.Stream <= 0 {
		fault("it names no stream")
	}
	if m.Stage <= 0 || m.Checkpoint <= 0 || m.Tx == 0 {
		fault("stage %d, checkpoint %d and transaction %d must be given", m.Stage, m.Checkpoint, m.Tx)
	}
	if _, err := ident.ParseTask(m.Task); err != nil {
		fault("%v", err)
	}
	for i, f := range m.Files {
		switch {
		case f.Bytes < 0 || f.Hash == Hash{}:
			fault("file %d has no size or hash", i)
		case f.Role != RoleBase && f.Role != RoleDelta && f.Role != RoleSink:
			fault("file %d has the role %q", i, f.Role)
		}
	}
	m.intervals(fault)
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// intervals checks that a sink's intervals rise, lie before the checkpoint, and have their files.
func (m *Manifest) intervals(fault func(string, ...any)) {
	files := map[Hash]bool{}
	for _, f := range m.Files {
		files[f.Hash] = files[f.Hash] || f.Role == RoleSink
	}
	for _, s := range m.Sinks {
		last := ident.CheckpointID(-1)
		for _, i := range s.Intervals {
			if i.After <= last || i.After >= m.Checkpoint {
				fault("the interval after %d of sink %s is out of order in checkpoint %d", i.After, s.Kind, m.Checkpoint)
			}
			if last = i.After; !files[i.Hash] {
				fault("the file of the interval after %d of sink %s is not listed", i.After, s.Kind)
			}
		}
	}
}
