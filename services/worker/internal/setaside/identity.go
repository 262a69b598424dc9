package setaside

import (
	"cmp"
	"encoding/base64"
	"encoding/json"

	"github.com/pondage/pondage/internal/problem"
)

// identity is what makes two records the same. Its order is that of listings.
type identity struct {
	Topic     string `json:"t,omitempty"`
	Partition int64  `json:"p"`
	Offset    int64  `json:"o"`
	// Stream and Key are those of a result, which has no origin.
	Stream string `json:"s,omitempty"`
	Key    []byte `json:"k,omitempty"`
}

func (a identity) compare(b identity) int {
	return cmp.Or(
		cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset),
		cmp.Compare(a.Stream, b.Stream), cmp.Compare(string(a.Key), string(b.Key)),
	)
}

// cursor is the identity of a page's last item, in a text.
func (a identity) cursor() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic("setaside: strings and numbers marshal: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor is the inverse of identity.cursor.
func parseCursor(text string) (id identity, err error) {
	doc, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(doc, &id)
	}
	if err != nil {
		return id, problem.New(problem.CodeBadCursor, "the cursor is not one of this list; begin again without it")
	}
	return id, nil
}
