package peers

import (
	"context"
	"fmt"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/ident"
)

// AskTrigger asks the node at the address one question for a trigger.
func (p *Peers) AskTrigger(ctx context.Context, address string, q common.TriggerQuestions) (align.Answer, error) {
	c, err := p.at(address)
	if err != nil {
		return align.Answer{}, fmt.Errorf("ask %s for a trigger: %w", address, err)
	}
	answer, err := c.PostTriggerQuestionsWithResponse(ctx, q)
	if err != nil {
		return align.Answer{}, fmt.Errorf("ask %s for a trigger: %w", address, err)
	}
	if answer.JSON200 == nil {
		return align.Answer{}, fmt.Errorf("ask %s for a trigger: %w", address, refused(answer.StatusCode(), answer.Body))
	}
	return ReadTriggerAnswer(*answer.JSON200)
}

// ReadTriggerAnswer reads the answer to one question.
func ReadTriggerAnswer(doc common.TriggerAnswers) (align.Answer, error) {
	if len(doc.Answers) != 1 {
		return align.Answer{}, fmt.Errorf("%d answers to one question for a trigger", len(doc.Answers))
	}
	a := doc.Answers[0]
	out := align.Answer{Status: align.Status(a.Status), At: align.Position{Msg: ident.MsgID(a.Message), Offset: ident.NextOffset(a.Offset)}}
	for _, name := range a.WaitingFor {
		t, err := ident.ParseTask(name)
		if err != nil {
			return align.Answer{}, fmt.Errorf("an answer to a question for a trigger: %w", err)
		}
		out.Waiting = append(out.Waiting, t)
	}
	return out, nil
}
