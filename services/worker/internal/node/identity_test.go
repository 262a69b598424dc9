package node

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestEachRunIsAnInstanceOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := OpenIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Learn("c1", 7); err != nil {
		t.Fatal(err)
	}
	if err := first.Learn("c1", 3); err != nil {
		t.Fatal(err)
	}
	first.Close()
	second, err := OpenIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.Node != first.Node || second.Instance.Counter != first.Instance.Counter+1 {
		t.Errorf("first %v %v, second %v %v", first.Node, first.Instance, second.Node, second.Instance)
	}
	if second.Cluster() != "c1" || second.Term() != 7 {
		t.Errorf("cluster %q, term %d", second.Cluster(), second.Term())
	}
}

func TestASecondProcessIsKeptOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id, err := OpenIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer id.Close()
	if _, err := OpenIdentity(dir); !errors.Is(err, ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
}

func TestADamagedIdentityIsNamedAndNotReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, identityFile)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenIdentity(dir); err == nil {
		t.Fatal("a damaged identity was taken")
	}
	if text, _ := os.ReadFile(path); string(text) != "{" {
		t.Errorf("the file now holds %q", text)
	}
}
