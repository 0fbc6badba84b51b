// Command judge runs the kube-scheduler that it was compiled with, and answers requests of package wire on standard input:
// objects in, decisions out. It does not import podberth. One module file for each version compiles it:
//
//	GOWORK=off go build -mod=mod -modfile=judge/v1_36.mod -tags judge,k1_36 -o /tmp/judge_1_36 ./judge
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/podberth/podberth/conformance/judge/wire"
	"github.com/podberth/podberth/conformance/real"
)

func main() {
	klog.SetLogger(logr.Discard())
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(2)
	}
}

func serve() error {
	s, err := real.Default(context.Background())
	if err != nil {
		return err
	}
	in := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	buffered := bufio.NewWriterSize(os.Stdout, 1<<20)
	out := json.NewEncoder(buffered)
	j := &judge{s: s}
	for in.More() {
		var r wire.Request
		if err := in.Decode(&r); err != nil {
			return err
		}
		var a wire.Answer
		if err := j.answer(&r, &a); err != nil {
			a.Err = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
		if err := buffered.Flush(); err != nil {
			return err
		}
	}
	return nil
}

type judge struct {
	s       *real.Scheduler
	attempt *real.Attempt // the last one
}

func (j *judge) answer(r *wire.Request, a *wire.Answer) (err error) {
	s := j.s
	switch r.Op {
	case "load":
		return s.LoadObjects(*r.Objects)
	case "know":
		return s.Know(r.Pod)
	case "update":
		return s.Update()
	case "assume":
		return s.Assume(r.Pod, r.Node)
	case "remove":
		return s.Remove(r.Pod)
	case "nominate":
		return s.Nominate(r.Pod)
	case "unnominate":
		s.Unnominate(r.Pod)
		return nil
	case "nodes":
		nodes, err := s.NodeInfos()
		for _, n := range nodes {
			a.Nodes = append(a.Nodes, n.Node().Name)
		}
		return err
	case "preenqueue":
		status, err := s.PreEnqueue(r.Plugin, r.Pod)
		a.Status = statusOf(status)
		return err
	case "filter":
		f, err := s.Filter(r.Plugin, r.Pod)
		a.Filter = &wire.Filter{Pre: statusOf(f.Pre), Narrow: f.Nodes != nil, Names: f.Nodes.UnsortedList()}
		for _, x := range f.Status {
			a.Filter.Status = append(a.Filter.Status, statusOf(x))
		}
		return err
	case "score":
		nodes, err := j.nodes(r.Nodes)
		if err != nil {
			return err
		}
		x, err := s.Score(r.Plugin, r.Pod, nodes)
		a.Score = &wire.Score{Skip: x.Skip, Raw: x.Raw, Normalized: x.Normalized}
		return err
	case "totals":
		return j.totals(r, a)
	case "schedule":
		result, err := s.Schedule(r.Pod)
		a.Result = resultOf(result, err)
		return nil
	case "attempt":
		if j.attempt, err = s.Attempt(r.Pod); err != nil {
			return err
		}
		a.Result = resultOf(j.attempt.Result, j.attempt.Err)
		return nil
	case "preempt":
		p, err := j.attempt.PreemptFrom(r.Offset, config.DefaultPreemptionArgs{MinCandidateNodesPercentage: r.MinPercentage, MinCandidateNodesAbsolute: r.MinAbsolute})
		a.Preemption = &wire.Preemption{Eligible: p.Eligible, Why: p.Why, Chosen: p.Chosen}
		for _, v := range p.Candidates {
			a.Preemption.Candidates = append(a.Preemption.Candidates, wire.Victims(v))
		}
		if p.Failed != nil {
			a.Preemption.Failed = p.Failed.Error()
		}
		return err
	case "requests":
		a.Requests = real.Held(r.Pod)
		return nil
	case "postfilter":
		a.Text = j.attempt.PostFilter()
		return nil
	}
	return fmt.Errorf("unknown request %q", r.Op)
}

// nodes finds nodes of the snapshot by name.
func (j *judge) nodes(names []string) (out []fwk.NodeInfo, err error) {
	all, err := j.s.NodeInfos()
	if err != nil {
		return nil, err
	}
	byName := map[string]fwk.NodeInfo{}
	for _, n := range all {
		byName[n.Node().Name] = n
	}
	for _, name := range names {
		if byName[name] == nil {
			return nil, fmt.Errorf("no node %q", name)
		}
		out = append(out, byName[name])
	}
	return out, nil
}

func (j *judge) totals(r *wire.Request, a *wire.Answer) error {
	nodes, err := j.nodes(r.Nodes)
	if err != nil {
		return err
	}
	list, ok, err := j.s.Totals(r.Pod, nodes)
	a.Totals = &wire.Totals{OK: ok}
	if err != nil {
		a.Totals.Err = err.Error()
	}
	for _, n := range list {
		t := wire.NodeTotal{Node: n.Name, Total: n.TotalScore, Scores: map[string]int64{}}
		for _, x := range n.Scores {
			t.Scores[x.Name] = x.Score
		}
		a.Totals.Nodes = append(a.Totals.Nodes, t)
	}
	return nil
}

func statusOf(s *fwk.Status) *wire.Status {
	if s == nil {
		return nil
	}
	out := &wire.Status{Code: s.Code().String(), Reasons: s.Reasons()}
	if s.Code() == fwk.Error {
		out.Err = s.AsError().Error()
	}
	return out
}

func resultOf(r scheduler.ScheduleResult, err error) *wire.Result {
	out := &wire.Result{Kind: "placed", Host: r.SuggestedHost, Evaluated: r.EvaluatedNodes, Feasible: r.FeasibleNodes}
	fit := (&real.Attempt{Err: err}).Fit()
	switch {
	case err == nil:
		return out
	case errors.Is(err, scheduler.ErrNoNodesAvailable):
		out.Kind = "no nodes"
	case fit != nil:
		out.Kind, out.Nodes = "unfit", fit.NumAllNodes
		out.Rejecters = fit.Diagnosis.UnschedulablePlugins.UnsortedList()
		sort.Strings(out.Rejecters)
	default:
		out.Kind = "error"
	}
	out.Text = err.Error()
	return out
}
