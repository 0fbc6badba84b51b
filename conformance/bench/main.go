// Command bench runs podberth and kube-scheduler side by side in one process: the same snapshot, the same pods, every node
// scored, decisions checked.
//
//	cd conformance && GOWORK=off go run ./bench [-nodes 5000] [-workload NAME] [-sampling] [-json]
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/podberth/podberth/internal/testkit/traces"
)

// result is one workload, as -json prints it.
type result struct {
	Workload              string  `json:"workload"`
	Nodes                 int     `json:"nodes"`
	Running               int     `json:"running"`
	Pods                  int     `json:"pods"`         // decided by both and compared
	PodberthPods          int     `json:"podberthPods"` // decided by podberth in a timed run
	PodberthPodsPerSecond float64 `json:"podberthPodsPerSecond"`
	KubePodsPerSecond     float64 `json:"kubePodsPerSecond"`
	Ratio                 float64 `json:"ratio"`
	KubeSampling          bool    `json:"kubeSampling"`
	PodberthSampling      bool    `json:"podberthSampling"`
	Agree                 bool    `json:"agree"`
}

// sampleBoth means that podberth samples nodes too.
var sampleBoth bool

func main() {
	var names []string
	for _, w := range workloads {
		names = append(names, w.name)
	}
	nodes := flag.Int("nodes", 5000, "number of nodes")
	only := flag.String("workload", "", "one of "+strings.Join(names, ", ")+"; all when empty")
	sampling := flag.Bool("sampling", false, "let kube-scheduler sample nodes as by default, while podberth scores every node")
	flag.BoolVar(&sampleBoth, "sample-both", false, "let both sample nodes as kube-scheduler does by default; the decisions are not compared")
	asJSON := flag.Bool("json", false, "print an array of results")
	pods := flag.Int("pods", 500, "pods that both sides decide")
	more := flag.Int("podberth-pods", 20000, "pods that podberth decides in a timed run")
	runs := flag.Int("runs", 3, "interleaved runs; medians are printed")
	flag.IntVar(&apps, "apps", apps, "applications whose replicas come in turn")
	flag.StringVar(&profileTo, "cpuprofile", "", "write the CPU profile of podberth's last timed run to this file")
	memory := flag.Bool("memory", false, "compare the heap of both caches instead")
	flag.Parse()
	if *memory {
		if err := printMemory(*nodes); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			os.Exit(2)
		}
		return
	}
	if *only != "" && !slices.Contains(names, *only) {
		fmt.Fprintf(os.Stderr, "bench: -workload: Unsupported value: %q: supported values: %s\n", *only, strings.Join(names, ", "))
		os.Exit(2)
	}
	fmt.Fprintf(os.Stderr, "GOMAXPROCS=%d, medians of %d interleaved runs\n", runtime.GOMAXPROCS(0), *runs)
	var results []result
	agree := true
	for _, w := range workloads {
		if *only != "" && w.name != *only {
			continue
		}
		r, err := result{}, error(nil)
		switch {
		case strings.HasPrefix(w.name, "preemption"):
			r, err = measurePreemption(w.name, *nodes, max(*pods/25, 6), *more, *runs)
		case strings.HasPrefix(w.name, "gang"):
			r, err = measureGang(w.name, *nodes, *runs)
		case w.name == "failures":
			r, err = measureFailures(*nodes, *pods, *more, *runs)
		default:
			r, err = measure(w.name, w.build, *nodes, *pods, *more, *runs, *sampling || sampleBoth)
		}
		if errors.Is(err, traces.ErrNone) {
			fmt.Fprintf(os.Stderr, "%s left out: %v\n", w.name, err)
			continue
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", w.name, err)
			os.Exit(2)
		}
		results, agree = append(results, r), agree && r.Agree
		fmt.Fprintf(os.Stderr, "%s done\n", w.name)
	}
	print(results, *asJSON)
	if !agree {
		os.Exit(1)
	}
}

func print(results []result, asJSON bool) {
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(results); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "workload\tnodes\trunning\tpods\tpodberth pods/s\tkube pods/s\tratio\tsampling\tagree\t")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.0f\t%.0f\t%.0fx\t%v\t%v\t\n", r.Workload, r.Nodes, r.Running, r.Pods, r.PodberthPodsPerSecond, r.KubePodsPerSecond, r.Ratio, r.KubeSampling, r.Agree)
	}
	t.Flush()
}

func measure(name string, build func(int) (world, error), nodes, pods, more, runs int, sampling bool) (result, error) {
	w, err := build(nodes)
	if err != nil {
		return result{}, err
	}
	if w.limit > 0 {
		pods, more = min(pods, w.limit), min(more, w.limit)
	}
	r := result{Workload: name, Nodes: len(w.nodes), Running: len(w.running), Pods: pods, PodberthPods: more, KubeSampling: sampling, PodberthSampling: sampleBoth, Agree: true}
	var ours, theirs []float64
	var answers []answer
	for range runs {
		rate, got, err := runKube(w, pods, sampling)
		if err != nil {
			return r, err
		}
		theirs, answers = append(theirs, rate), got
		rate, err = runBerth(w, more)
		if err != nil {
			return r, err
		}
		ours = append(ours, rate)
	}
	if !sampling {
		if r.Agree, err = compare(w, answers); err != nil {
			return r, err
		}
	}
	r.PodberthPodsPerSecond, r.KubePodsPerSecond = median(ours), median(theirs)
	r.Ratio = r.PodberthPodsPerSecond / r.KubePodsPerSecond
	return r, nil
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// answer is what kube-scheduler said about one pod.
type answer struct{ node, message string }

func runKube(w world, n int, sampling bool) (rate float64, answers []answer, err error) {
	k, err := newKube(w, sampling)
	if err != nil {
		return 0, nil, err
	}
	defer k.close()
	list := w.first(n)
	runtime.GC()
	var took time.Duration
	for _, x := range list {
		pod, e := x.pod, x.event
		begin := time.Now()
		if e.remove != nil {
			if err := k.removePod(e.remove); err != nil {
				return 0, nil, err
			}
		}
		if e.node != nil {
			if err := k.updateNode(e.old, e.node); err != nil {
				return 0, nil, err
			}
		}
		node, message, err := k.decide(pod)
		if err == nil && node != "" {
			err = k.assume(pod, node)
		}
		if err != nil {
			return 0, nil, err
		}
		took += time.Since(begin)
		answers = append(answers, answer{node, message})
	}
	return float64(n) / took.Seconds(), answers, nil
}

func runBerth(w world, n int) (rate float64, err error) {
	b, err := newBerth(w)
	if err != nil {
		return 0, err
	}
	if w.again {
		for i := range n {
			b.decide(w.pod(i))
		}
	}
	list := w.first(n)
	runtime.GC()
	stop, err := profiled()
	if err != nil {
		return 0, err
	}
	defer stop()
	begin := time.Now()
	for _, x := range list {
		if err := b.happen(x.event); err != nil {
			return 0, err
		}
		d, _ := b.decide(x.pod)
		if d.Placed() {
			if err := b.place(x.pod, d); err != nil {
				return 0, err
			}
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}
