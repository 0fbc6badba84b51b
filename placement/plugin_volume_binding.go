package placement

import (
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/volumes"
)

// newVolumeBinding returns the filter of that name. In v1.37 it scores too. A node is allowed when it reaches the bound volumes and when the unbound
// claims find a volume there or can be provisioned there. Decision.Volumes is what would be bound. It skips a pod without
// claims. The zero Options are v1.37's.
func newVolumeBinding(o volumes.Options) *Plugin { return bindingRule.plugin(o, nil) }

var bindingRule = volumeRule[filter.Cluster, volumes.BindingState]{
	name:      plugins.VolumeBinding,
	evaluator: (*volumes.Pod).Binding, reads: slotsOf,
	predicate: func(s volumes.BindingState) filter.Predicate { return binding{s} },
	scores:    scoresStorage,
	scorer:    func(s volumes.BindingState) Scorer { return freeStorage{binding{s}} },
	share:     staticVolumes(func(p *volumes.Pod) any { return p.Binding() }),
}

type binding struct{ volumes.BindingState }

// AppendSignature appends the verdict.
func (s binding) AppendSignature(dst []int32, i int) []int32 { return append(dst, int32(s.Check(i))) }

// freeStorage is a binding that scores.
type freeStorage struct{ binding }

// AppendSignature appends the verdict and the score.
func (s freeStorage) AppendSignature(dst []int32, i int) []int32 {
	return append(s.binding.AppendSignature(dst, i), int32(s.Raw(i)))
}

// Numbers names the claims that reject.
func (s binding) Numbers(i int) []string {
	var out []string
	for _, c := range s.Explain(i) {
		line := "claim " + c.Claim
		if c.Volume != "" {
			line += " with volume " + c.Volume
		}
		line += ": " + c.Reason
		if c.ZoneLabel != "" {
			line += " (its zone is that of " + c.ZoneLabel + " here)"
		}
		out = append(out, line)
	}
	return out
}
