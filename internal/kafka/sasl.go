package kafka

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// mechanism returns the SASL state machine that both kinds of connections use.
func (s SASL) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case MechanismPlain:
		return plain.Auth{User: s.User, Pass: s.Password}.AsMechanism(), nil
	case MechanismScramSHA256:
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism(), nil
	case MechanismScramSHA512:
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("kafka: sasl: mechanism %q is unknown; use %s, %s or %s",
		s.Mechanism, MechanismPlain, MechanismScramSHA256, MechanismScramSHA512)
}

// authenticate runs the SASL exchange on a fresh connection.
func (cn *conn) authenticate(ctx context.Context, s SASL, address string) error {
	mechanism, err := s.mechanism()
	if err != nil {
		return err
	}
	answer, err := cn.roundTrip(versionSaslHandshake, &saslhandshake.Request{Mechanism: mechanism.Name()})
	if err != nil {
		return err
	}
	handshake := answer.(*saslhandshake.Response)
	if err := kerr.ErrorForCode(handshake.ErrorCode); err != nil {
		return fmt.Errorf("the broker takes %v: %w", handshake.Mechanisms, err)
	}
	session, say, err := mechanism.Authenticate(ctx, address)
	if err != nil {
		return err
	}
	for done := false; !done; {
		heard, err := cn.saslStep(say)
		if err != nil {
			return err
		}
		if done, say, err = session.Challenge(heard); err != nil {
			return &Error{Code: CodeNotAuthorized, Op: "authenticate", Partition: NoPartition, Err: err}
		}
	}
	return nil
}

// saslStep sends one message of the mechanism and returns the broker's.
func (cn *conn) saslStep(say []byte) ([]byte, error) {
	answer, err := cn.roundTrip(versionSaslAuthenticate, &saslauthenticate.Request{AuthBytes: say})
	if err != nil {
		return nil, err
	}
	step := answer.(*saslauthenticate.Response)
	if err := kerr.ErrorForCode(step.ErrorCode); err != nil {
		return nil, fmt.Errorf("%s: %w", step.ErrorMessage, err)
	}
	return step.AuthBytes, nil
}
