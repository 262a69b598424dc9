package kafka_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pondage/pondage/internal/kafka"
)

func TestConfigReportsAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	err := kafka.Config{
		Brokers: []string{"nohost"}, SASL: &kafka.SASL{Mechanism: "MD5", Password: "secret"}, DialTimeout: -1,
	}.Validate()
	for _, want := range []string{`"nohost"`, `"MD5"`, "user is empty", "timeouts"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
	if err := (kafka.Config{}).Validate(); err == nil || !strings.Contains(err.Error(), "brokers") {
		t.Errorf("without brokers: %v", err)
	}
}

func TestPasswordIsNeverPrinted(t *testing.T) {
	t.Parallel()
	c := kafka.Config{SASL: &kafka.SASL{Mechanism: kafka.MechanismPlain, User: "u", Password: "secret"}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, *c.SASL); strings.Contains(text, "secret") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

func TestSASLAndTLSReachBothKindsOfConnections(t *testing.T) {
	t.Parallel()
	certificate, pool := selfSigned(t)
	for _, mechanism := range []kafka.Mechanism{kafka.MechanismPlain, kafka.MechanismScramSHA256, kafka.MechanismScramSHA512} {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser(string(mechanism), "u", "secret"),
			kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		open := func(password string) *bed {
			client, err := kafka.Open(kafka.Config{
				Brokers: cluster.ListenAddrs(), TLS: &tls.Config{RootCAs: pool},
				SASL: &kafka.SASL{Mechanism: mechanism, User: "u", Password: password},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			return &bed{t: t, cluster: cluster, client: client, ctx: t.Context()}
		}
		b := open("secret")
		b.topic("t", 1)
		b.write("t", 0, "a")
		b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t"}, 4).values(1)

		// This broker hangs up on a wrong password, where Kafka answers with a reason.
		if err := open("hunter2").client.Ping(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s with a wrong password: %v, want an error without the password", mechanism, err)
		}
	}
}

// selfSigned returns a certificate for 127.0.0.1 and the pool that trusts it.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestEdgeTopicIsMadeOnceAndNeverChanged(t *testing.T) {
	t.Parallel()
	b := newBed(t, kfake.NumBrokers(3))
	spec := kafka.EdgeSpec("c.s.1.agg", 8)
	made, err := b.client.EnsureTopic(b.ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Partitions) != 8 || len(made.Partitions[0].Replicas) != 3 || made.ID.IsZero() {
		t.Fatalf("made as %+v", made)
	}
	again, err := b.client.EnsureTopic(b.ctx, spec)
	if err != nil || again.ID != made.ID {
		t.Fatalf("the second time: id %v, %v; want the same topic %v", again.ID, err, made.ID)
	}
	settings, err := b.client.Settings(b.ctx, spec.Name)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"min.insync.replicas": "2", "unclean.leader.election.enable": "false", "max.message.bytes": "8388608",
		"message.timestamp.type": "LogAppendTime", "retention.ms": "86400000",
	} {
		if settings[name] != want {
			t.Errorf("%s is %q, want %q", name, settings[name], want)
		}
	}
}

// TestAMadeTopicIsKnownToEveryBroker: brokers hear of a topic one after the other, and the next question may go to any.
func TestAMadeTopicIsKnownToEveryBroker(t *testing.T) {
	t.Parallel()
	b := newBed(t, kfake.NumBrokers(3))
	const slow, misses = 2, 3 // the broker, and how often it has not heard yet
	var asked atomic.Int32
	b.cluster.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		request := r.(*kmsg.MetadataRequest)
		if b.cluster.CurrentNode() != slow || len(request.Topics) != 1 || *request.Topics[0].Topic != "t" || asked.Add(1) > misses {
			return nil, nil, false
		}
		answer := request.ResponseKind().(*kmsg.MetadataResponse)
		unknown := kmsg.NewMetadataResponseTopic()
		unknown.Topic, unknown.ErrorCode = request.Topics[0].Topic, kerr.UnknownTopicOrPartition.Code
		answer.Topics = append(answer.Topics, unknown)
		return answer, nil, true
	})
	b.topic("t", 3)
	if n := asked.Load(); n <= misses {
		t.Errorf("the slow broker was asked %d times, and has not shown the topic", n)
	}
}

func TestTopicWithOtherSettingsIsRefusedWithTheDifference(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if _, err := b.client.CreateTopic(b.ctx, kafka.TopicSpec{
		Name: "t", Partitions: 4, Settings: map[string]string{kafka.SettingMaxMessageBytes: "1000"},
	}); err != nil {
		t.Fatal(err)
	}
	_, err := b.client.EnsureTopic(b.ctx, kafka.EdgeSpec("t", 8))
	if kafka.CodeOf(err) != kafka.CodeTopicSettings {
		t.Fatalf("got %v, want %s", err, kafka.CodeTopicSettings)
	}
	for _, want := range []string{"partitions is 4, must be 8", "max.message.bytes is 1000, must be 8388608", "retention.ms is"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// TestALeaderThatIsNotOneYetIsAskedAgain: the metadata may name the leader of a new topic before that broker knows of it.
func TestALeaderThatIsNotOneYetIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t, kfake.NumBrokers(3))
	b.topic("t", 4)
	b.write("t", 0, "a", "b")
	refusals := 2
	b.cluster.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if refusals == 0 {
			return nil, nil, false
		}
		refusals--
		b.cluster.KeepControl()
		asked, answer := r.(*kmsg.ListOffsetsRequest), r.ResponseKind().(*kmsg.ListOffsetsResponse)
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = "t"
		for _, p := range asked.Topics[0].Partitions {
			refused := kmsg.NewListOffsetsResponseTopicPartition()
			refused.Partition, refused.ErrorCode = p.Partition, kerr.NotLeaderForPartition.Code
			topic.Partitions = append(topic.Partitions, refused)
		}
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	ends, err := b.client.Ends(b.ctx, "t")
	if err != nil || ends[0] != 2 || len(ends) != 4 {
		t.Errorf("%v, %v; want four ends, the first 2", ends, err)
	}
}

func TestOffsetsByNameAndByTime(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	q := b.queue("t", kafka.QueueOptions{MaxBatchBytes: 1})
	for ms := int64(1000); ms <= 5000; ms += 1000 {
		if err := q.Push(kafka.Message{Value: []byte("x"), TimestampMs: ms}); err != nil {
			t.Fatal(err)
		}
	}
	b.flush(q)
	if err := b.client.DeleteRecords(b.ctx, "t", kafka.Offsets{0: 1}); err != nil {
		t.Fatal(err)
	}
	starts, err1 := b.client.Starts(b.ctx, "t")
	ends, err2 := b.client.Ends(b.ctx, "t")
	stables, err3 := b.client.Stables(b.ctx, "t")
	middle, err4 := b.client.At(b.ctx, "t", 2500)
	never, err5 := b.client.At(b.ctx, "t", 9000)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	if starts[0] != 1 || ends[0] != 5 || stables[0] != 5 || middle[0] != 2 || never[0] != 5 {
		t.Fatalf("start %d, end %d, stable %d, at 2.5 s %d, at 9 s %d; want 1, 5, 5, 2, 5",
			starts[0], ends[0], stables[0], middle[0], never[0])
	}
}

func TestDeletingAMissingTopicIsNoError(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if err := b.client.DeleteTopic(b.ctx, "nosuch"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.Topic(b.ctx, "nosuch"); kafka.CodeOf(err) != kafka.CodeTopicUnknown {
		t.Fatalf("got %v, want %s", err, kafka.CodeTopicUnknown)
	}
}

func TestNobodyListeningIsTransient(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	client, err := kafka.Open(kafka.Config{Brokers: []string{address}, RequestTimeout: 100 * time.Millisecond, DialTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Topic(t.Context(), "t"); kafka.CodeOf(err) != kafka.CodeUnreachable || !kafka.Transient(err) {
		t.Fatalf("got %v, want %s", err, kafka.CodeUnreachable)
	}
}
