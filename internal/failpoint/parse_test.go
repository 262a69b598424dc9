package failpoint

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

func plannedFor(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPointActsAtItsHit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"drop-one-block":        "x...",
		"drop-one-block=on":     "x...",
		"drop-one-block@3":      "..x.",
		"drop-one-block=on@2+":  ".xxx",
		" drop-one-block @ 1+ ": "xxxx",
		"dup-one-block@1+":      "....", // another point
		"":                      "....",
	} {
		p, got := plannedFor(t, text), ""
		for range want {
			got += map[bool]string{true: "x", false: "."}[p.On(DropOneBlock)]
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestWhatAPlaceCanDo(t *testing.T) {
	t.Parallel()
	const place = string(StorageManifestDurable)
	for text, want := range map[string]Action{
		place:                     {Do: DoDie},
		place + "=die@1+":         {Do: DoDie},
		place + "=exit(7)":        {Do: DoExit, Status: 7},
		place + "=sleep(1m30s)":   {Do: DoSleep, For: 90 * time.Second},
		place + "=wait(a/b)@1":    {Do: DoWait, File: "a/b"},
		place + "=error(ENOSPC)":  {Do: DoError, Err: syscall.ENOSPC},
		place + "; dup-one-block": {Do: DoDie},
	} {
		if got := plannedFor(t, text).Next(StorageManifestDurable); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestAnErrorCarriesItsText(t *testing.T) {
	t.Parallel()
	a := plannedFor(t, string(StorageFileBeforeSync)+"=error(me@home)@2+").Next
	if first := a(StorageFileBeforeSync); first.Err != nil {
		t.Errorf("acts before its hit: %v", first.Err)
	}
	if second := a(StorageFileBeforeSync); !errors.Is(second.Err, ErrInjected) || !strings.Contains(second.Err.Error(), "me@home") {
		t.Errorf("%v", second.Err)
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"no-such":                             `no point "no-such"`,
		"=die":                                `no point ""`,
		"drop-one-block=die":                  `a misbehaviour cannot "die"`,
		"storage/manifest:durable=on":         `a place cannot "on"`,
		"storage/manifest:durable=explode":    `no action "explode"`,
		"storage/manifest:durable=":           `no action ""`,
		"storage/manifest:durable=sleep(5":    "bracket",
		"storage/manifest:durable=sleep(5)":   "duration",
		"storage/manifest:durable=sleep":      "duration",
		"storage/manifest:durable=wait":       "path of a file",
		"storage/manifest:durable=exit(256)":  "status",
		"storage/manifest:durable=die(now)":   "nothing in brackets",
		"storage/manifest:durable@0":          "number of a hit",
		"storage/manifest:durable@-1+":        "number of a hit",
		"storage/manifest:durable@":           "number of a hit",
		"drop-one-block; drop-one-block@2":    "twice",
		"drop-one-block; storage/file:nowhen": "no point",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q in it", text, err, says)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("storage/file:before-sync=error(EIO)@2+; drop-one-block")
	f.Add("a=b(c)@1@2")
	f.Fuzz(func(_ *testing.T, text string) {
		if p, err := Parse(text); err == nil {
			p.Next(StorageFileBeforeSync)
		}
	})
}
