package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"
)

// TestRecordsAreThePeers holds the records to sums taken of the peers' generator (`gen file -records 100000 …`).
func TestRecordsAreThePeers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		records Records
		sum     string
	}{
		{Records{Count: 100_000, Devices: 1000, Step: time.Millisecond}, "d41055f81aa239a5ef2783db2ff3866150a3bcc1e61fa76e95f2ba2c251633dc"},
		{Records{Count: 100_000, Devices: 100_000, Step: 10 * time.Microsecond}, "f76befb34567db54f8d04c6fc1bff87f0bddc1e738fe4a91a8c4d9aa06c82c11"},
	} {
		h := sha256.New()
		var line []byte
		for i := range c.records.Count {
			line = append(c.records.at(i).appendValue(line[:0]), '\n')
			h.Write(line)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != c.sum {
			t.Errorf("%+v: sum %s, want %s", c.records, got, c.sum)
		}
	}
}

func TestTheTextOfARecordIsItsNumbers(t *testing.T) {
	t.Parallel()
	r := Records{Count: 10_000, Devices: 120_000, Step: time.Millisecond}
	for i := range r.Count {
		x := r.at(i)
		var got struct {
			TS     int64   `json:"ts"`
			Device string  `json:"device"`
			Temp   float64 `json:"temp"`
			Hum    uint64  `json:"hum"`
			Status string  `json:"status"`
		}
		dec := json.NewDecoder(bytes.NewReader(x.appendValue(nil)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.TS != x.timeMs || got.Device != string(appendDevice(nil, x.device)) || got.Temp != hundredths(x.temp) || got.Hum != x.hum || got.Status != x.status {
			t.Fatalf("record %d: %+v is written as %+v", i, x, got)
		}
	}
}

// TestPartitionsAreKafkas uses values of the Java client's partitioner.
func TestPartitionsAreKafkas(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int32{ // org.apache.kafka.common.utils.UtilsTest
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}
