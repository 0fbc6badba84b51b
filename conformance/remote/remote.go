// Package remote asks a judge in another process what package real answers in this one: kube-scheduler of another version
// with its default profile. The judge is the program of folder judge.
package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/judge/wire"
	"github.com/podberth/podberth/conformance/real"
)

// Scheduler is a judge. It has the methods of real.Scheduler that comparisons use.
type Scheduler struct {
	out *bufio.Writer
	enc *json.Encoder
	dec *json.Decoder
}

// Start runs the judge at a path. The process ends when this process closes its end of the pipe.
func Start(path string) (*Scheduler, error) {
	cmd := exec.Command(path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return over(in, out), nil
}

func over(in io.Writer, out io.Reader) *Scheduler {
	w := bufio.NewWriterSize(in, 1<<20)
	return &Scheduler{out: w, enc: json.NewEncoder(w), dec: json.NewDecoder(bufio.NewReaderSize(out, 1<<20))}
}

// ask sends a request and waits for the answer.
func (s *Scheduler) ask(r wire.Request) (a wire.Answer, err error) {
	if err = s.enc.Encode(r); err == nil {
		err = s.out.Flush()
	}
	if err == nil {
		err = s.dec.Decode(&a)
	}
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	if err != nil {
		err = fmt.Errorf("judge: %s: %w", r.Op, err)
	}
	return a, err
}

func (s *Scheduler) do(r wire.Request) error {
	_, err := s.ask(r)
	return err
}

// Load replaces all objects.
func (s *Scheduler) Load(o cluster.Objects) error {
	w := real.Wire(o)
	return s.do(wire.Request{Op: "load", Objects: &w})
}

// Know lets listers find a pending pod.
func (s *Scheduler) Know(pod *v1.Pod) error { return s.do(wire.Request{Op: "know", Pod: pod}) }

// Update brings the snapshot up to date.
func (s *Scheduler) Update() error { return s.do(wire.Request{Op: "update"}) }

// Assume puts a pod on a node.
func (s *Scheduler) Assume(pod *v1.Pod, node string) error {
	return s.do(wire.Request{Op: "assume", Pod: pod, Node: node})
}

// Remove takes a running or assumed pod out.
func (s *Scheduler) Remove(pod *v1.Pod) error { return s.do(wire.Request{Op: "remove", Pod: pod}) }

// Nominate puts a nominated pod into the queue.
func (s *Scheduler) Nominate(pod *v1.Pod) error {
	return s.do(wire.Request{Op: "nominate", Pod: pod})
}

// Unnominate takes it out again. An error shows in the next request.
func (s *Scheduler) Unnominate(pod *v1.Pod) {
	if err := s.do(wire.Request{Op: "unnominate", Pod: pod}); err != nil {
		panic(err)
	}
}

// NodeInfos returns the nodes of the snapshot in its order, with their names alone.
func (s *Scheduler) NodeInfos() (out []fwk.NodeInfo, err error) {
	a, err := s.ask(wire.Request{Op: "nodes"})
	for _, name := range a.Nodes {
		node := &v1.Node{}
		node.Name = name
		n := framework.NewNodeInfo()
		n.SetNode(node)
		out = append(out, n)
	}
	return out, err
}

func names(nodes []fwk.NodeInfo) (out []string) {
	for _, n := range nodes {
		out = append(out, n.Node().Name)
	}
	return out
}

// PreEnqueue asks one plugin whether a pod may enter the queue.
func (s *Scheduler) PreEnqueue(name string, pod *v1.Pod) (*fwk.Status, error) {
	a, err := s.ask(wire.Request{Op: "preenqueue", Plugin: name, Pod: pod})
	if err != nil {
		return nil, err
	}
	return statusOf(a.Status)
}

// Filter asks one filter about every node.
func (s *Scheduler) Filter(name string, pod *v1.Pod) (f real.Filtering, err error) {
	a, err := s.ask(wire.Request{Op: "filter", Plugin: name, Pod: pod})
	if err != nil {
		return f, err
	}
	if f.Pre, err = statusOf(a.Filter.Pre); err != nil {
		return f, err
	}
	if a.Filter.Narrow {
		f.Nodes = sets.New(a.Filter.Names...)
	}
	for _, x := range a.Filter.Status {
		status, err := statusOf(x)
		if err != nil {
			return f, err
		}
		f.Status = append(f.Status, status)
	}
	return f, nil
}

// Score asks one score plugin.
func (s *Scheduler) Score(name string, pod *v1.Pod, feasible []fwk.NodeInfo) (real.Scoring, error) {
	a, err := s.ask(wire.Request{Op: "score", Plugin: name, Pod: pod, Nodes: names(feasible)})
	if err != nil {
		return real.Scoring{}, err
	}
	return real.Scoring(*a.Score), nil
}

// Totals runs all score plugins.
func (s *Scheduler) Totals(pod *v1.Pod, feasible []fwk.NodeInfo) (out []fwk.NodePluginScores, ok bool, err error) {
	a, err := s.ask(wire.Request{Op: "totals", Pod: pod, Nodes: names(feasible)})
	if err != nil {
		return nil, true, err
	}
	for _, n := range a.Totals.Nodes {
		x := fwk.NodePluginScores{Name: n.Node, TotalScore: n.Total}
		for name, score := range n.Scores {
			x.Scores = append(x.Scores, fwk.PluginScore{Name: name, Score: score})
		}
		out = append(out, x)
	}
	if a.Totals.Err != "" {
		err = errors.New(a.Totals.Err)
	}
	return out, a.Totals.OK, err
}

// Requests returns what a pod on a node counts with.
func (s *Scheduler) Requests(pod *v1.Pod) (v1.ResourceList, error) {
	a, err := s.ask(wire.Request{Op: "requests", Pod: pod})
	return a.Requests, err
}

// Schedule runs the scheduling algorithm for one pod.
func (s *Scheduler) Schedule(pod *v1.Pod) (scheduler.ScheduleResult, error) {
	a, err := s.ask(wire.Request{Op: "schedule", Pod: pod})
	if err != nil {
		return scheduler.ScheduleResult{}, err
	}
	return resultOf(pod, a.Result)
}

// Attempt is Schedule with the state kept in the judge until the next Attempt.
func (s *Scheduler) Attempt(pod *v1.Pod) (*real.Attempt, error) {
	a, err := s.ask(wire.Request{Op: "attempt", Pod: pod})
	if err != nil {
		return nil, err
	}
	out := &real.Attempt{Asked: attempt{s}}
	out.Result, out.Err = resultOf(pod, a.Result)
	return out, nil
}

// attempt is the last attempt of a judge.
type attempt struct{ s *Scheduler }

func (t attempt) PreemptFrom(offset int, args config.DefaultPreemptionArgs) (out real.Preemption, err error) {
	a, err := t.s.ask(wire.Request{Op: "preempt", Offset: offset, MinPercentage: args.MinCandidateNodesPercentage, MinAbsolute: args.MinCandidateNodesAbsolute})
	if err != nil {
		return out, err
	}
	out = real.Preemption{Eligible: a.Preemption.Eligible, Why: a.Preemption.Why, Chosen: a.Preemption.Chosen}
	for _, v := range a.Preemption.Candidates {
		out.Candidates = append(out.Candidates, real.Victims(v))
	}
	if a.Preemption.Failed != "" {
		out.Failed = errors.New(a.Preemption.Failed)
	}
	return out, nil
}

func (t attempt) PostFilter() string {
	a, err := t.s.ask(wire.Request{Op: "postfilter"})
	if err != nil {
		return err.Error()
	}
	return a.Text
}
