package optimal

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// Nil, zero and extreme arguments give an error or the zero answer.
func TestMisuse(t *testing.T) {
	testkit.Misuse(t, map[string]any{
		"New":          New,
		"Compare":      Compare,
		"DefaultOrder": DefaultOrder,
		"Criterion":    func() Criterion { return 0 },
		"Quorums":      Quorums,
		"Majority":     Majority,
		"PlaceGang":    PlaceGang,
		"NewComeback":  NewComeback,
		"Search": func() *Search {
			s, err := New(Options{})
			if err != nil {
				panic(err)
			}
			return s
		},
	}, nil, preemption.Candidate{Victims: []preemption.Victim{{}}})
}
