package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement/internal/hooks"
)

// unmoved is the part of a hooks.State that no running pod moves: its key of the nodes changes only with what Shifted names.
type unmoved struct{}

func (unmoved) Matched(int32) bool                   { return false }
func (unmoved) Reads(dst []string) []string          { return dst }
func (unmoved) Keys() int                            { return 1 }
func (unmoved) Single() bool                         { return false }
func (unmoved) OfSet(*v1.Pod) hooks.Counter          { return nil }
func (unmoved) OfTerms(int32, *v1.Pod) hooks.Counter { return nil }

func (unmoved) AppendCounts(dst []int32, _ int) ([]int32, bool) { return dst, false }
func (unmoved) AppendCounted(dst []int32) []int32               { return dst }
