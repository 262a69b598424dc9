package bench

import (
	"strconv"
	"time"
)

// Records are the telemetry of a case. Record i depends on these numbers and i alone, and is byte for byte the one that
// the generator of the peer benchmarks makes for them.
type Records struct {
	Count   int64
	Devices uint64
	Step    time.Duration // event time from one record to the next; whole microseconds
}

// What the records of all cases have in common with the peers' generator.
const (
	seed       = 1
	disorderMs = 1500   // a record's event time lies up to this much behind its turn
	fiveDigits = 10_000 // a device's number has at least five

	// Increment of splitmix64, once and twice (modulo 2^64), and the factors of its finisher.
	increment = 0x9e3779b97f4a7c15
	twice     = 0x3c6ef372fe94f82a
	mulA      = 0xbf58476d1ce4e5b9
	mulB      = 0x94d049bb133111eb
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// record is one reading of a device.
type record struct {
	device uint64
	timeMs int64 // event time, ms since the epoch
	temp   int64 // hundredths of a degree, −10.00 to 49.99
	hum    uint64
	status string
}

// at returns record i.
func (r Records) at(i int64) record {
	a := mix(seed*increment + uint64(i))
	b, c := mix(a+increment), mix(a+twice) // the next two draws of the sequence that starts at a
	x := record{
		device: a % r.Devices,
		timeMs: (begin.UnixMicro()+i*r.Step.Microseconds())/1000 - int64(b>>20%(disorderMs+1)),
		temp:   int64(c%6000) - 1000,
		hum:    c >> 32 % 101,
		status: "ok",
	}
	switch b % 64 {
	case 0:
		x.status = "error"
	case 1, 2, 3:
		x.status = "warn"
	}
	return x
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * mulA
	x = (x ^ x>>27) * mulB
	return x ^ x>>31
}

// appendDevice appends the name of a device, which is the record's key.
func appendDevice(b []byte, device uint64) []byte {
	b = append(b, 'd')
	for limit := uint64(fiveDigits); limit > device && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, device, 10)
}

// appendValue appends the record as JSON.
func (x record) appendValue(b []byte) []byte {
	b = append(b, `{"ts":`...)
	b = strconv.AppendInt(b, x.timeMs, 10)
	b = append(b, `,"device":"`...)
	b = appendDevice(b, x.device)
	b = append(b, `","temp":`...)
	b = appendHundredths(b, x.temp)
	b = append(b, `,"hum":`...)
	b = strconv.AppendUint(b, x.hum, 10)
	b = append(b, `,"status":"`...)
	b = append(b, x.status...)
	return append(b, `"}`...)
}

func appendHundredths(b []byte, n int64) []byte {
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendInt(b, n/100, 10)
	return append(b, '.', byte('0'+n/10%10), byte('0'+n%10))
}
