package real

import (
	"errors"
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// Attempt is one run of the scheduling algorithm and what it leaves to the PostFilter plugins.
type Attempt struct {
	Result scheduler.ScheduleResult
	Err    error

	// Asked answers for an attempt of a judge in another process; nil for an attempt of this process.
	Asked interface {
		PreemptFrom(offset int, args config.DefaultPreemptionArgs) (Preemption, error)
		PostFilter() string
	}

	s     *Scheduler
	pod   *v1.Pod
	state fwk.CycleState
}

// Attempt is Schedule with the state kept.
func (s *Scheduler) Attempt(pod *v1.Pod) (*Attempt, error) {
	if err := s.Update(); err != nil {
		return nil, err
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, err
	}
	a := &Attempt{s: s, pod: pod, state: framework.NewCycleState()}
	a.Result, a.Err = s.schedule(a.state, info)
	return a, nil
}

// Reserve assumes the pod on a node and runs the Reserve plugins, which promise volumes to it.
func (a *Attempt) Reserve(node string) error {
	if err := a.s.Assume(a.pod, node); err != nil {
		return err
	}
	return a.s.Framework.RunReservePluginsReserve(a.s.ctx, a.state, a.s.assumed[len(a.s.assumed)-1], node).AsError()
}

// Fit returns the error that says why no node fits, nil for other outcomes.
func (a *Attempt) Fit() *framework.FitError {
	var fit *framework.FitError
	errors.As(a.Err, &fit)
	return fit
}

// Victims is one candidate node of preemption.
type Victims struct {
	Node       string
	Pods       []string // most important first
	Violations int64
}

// Preemption is what DefaultPreemption says about a pod that fits nowhere.
type Preemption struct {
	Eligible   bool
	Why        string
	Candidates []Victims // in the order in which they were found, those without violations first
	Chosen     string    // "" without candidates
	Failed     error     // of filters, without candidates
}

// Preempt runs the parts of DefaultPreemption one by one: who may preempt, which victims each node would take, which node
// is chosen. All nodes are tried, from the first on.
func (a *Attempt) Preempt() (Preemption, error) {
	return a.PreemptFrom(0, config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 1})
}

// PreemptFrom is Preempt that begins at some node of the list, by name, and stops when it has as many candidates as the
// arguments want.
func (a *Attempt) PreemptFrom(offset int, args config.DefaultPreemptionArgs) (Preemption, error) {
	var out Preemption
	if a.Asked != nil {
		return a.Asked.PreemptFrom(offset, args)
	}
	dp, err := a.plugin(args, a.s.Framework)
	if err != nil {
		return out, err
	}
	fit := a.Fit()
	if fit == nil {
		return out, fmt.Errorf("pod %s: no fit error", a.pod.Name)
	}
	out.Eligible, out.Why = dp.PodEligibleToPreemptOthers(a.s.ctx, a.pod, fit.Diagnosis.NodeToStatus.Get(a.pod.Status.NominatedNodeName))
	if !out.Eligible {
		return out, nil
	}
	nodes, err := fit.Diagnosis.NodeToStatus.NodesForStatusCode(a.s.Framework.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil || len(nodes) == 0 {
		return out, err
	}
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].Node().Name < nodes[j].Node().Name })
	pdbs, err := a.s.Factory.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
	if err != nil {
		return out, err
	}
	_, enough := dp.GetOffsetAndNumCandidates(int32(len(nodes)))
	candidates, _, failed := dp.Evaluator.DryRunPreemption(a.s.ctx, a.state, a.pod, nodes, pdbs, int32(offset%len(nodes)), enough)
	if len(candidates) == 0 { // with candidates nobody asks for it
		out.Failed = failed
	}
	for _, c := range candidates {
		v := Victims{Node: c.Name(), Violations: c.Victims().NumPDBViolations}
		for _, p := range c.Victims().Pods {
			v.Pods = append(v.Pods, p.Namespace+"/"+p.Name)
		}
		out.Candidates = append(out.Candidates, v)
	}
	if len(candidates) > 0 {
		out.Chosen = dp.Evaluator.SelectCandidate(a.s.ctx, candidates).Name()
	}
	return out, nil
}

// plugin makes a DefaultPreemption that deletes nobody.
func (a *Attempt) plugin(args config.DefaultPreemptionArgs, h handle) (*defaultpreemption.DefaultPreemption, error) {
	features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	features.EnableAsyncPreemption = false
	dp, err := defaultpreemption.New(a.s.ctx, &args, h, features)
	if err != nil {
		return nil, err
	}
	spare(dp)
	return dp, nil
}

// PostFilter runs the profile's PostFilter plugins and returns the whole message of the attempt. It is for attempts in which
// nobody is preempted: with victims it would delete them.
func (a *Attempt) PostFilter() string {
	if a.Asked != nil {
		return a.Asked.PostFilter()
	}
	fit := a.Fit()
	_, status := a.s.Framework.RunPostFilterPlugins(a.s.ctx, a.state, a.pod, fit.Diagnosis.NodeToStatus)
	fit.Diagnosis.PostFilterMsg = status.Message()
	return fit.Error()
}
