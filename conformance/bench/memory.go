package main

import (
	"fmt"
	"os"
	"runtime"
	"text/tabwriter"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// printMemory compares the heap that the caches of both sides take for 30 pods a node, API objects not counted.
func printMemory(nodes int) error {
	w, err := replicas(func(*v1.Pod, string) {})(nodes)
	if err != nil {
		return err
	}
	pod := w.pod
	w.running = nil
	for i := range 30 * nodes {
		p := pod(i)
		p.Name = fmt.Sprintf("run-%d", i)
		p.UID = types.UID(p.Name)
		p.Spec.NodeName = w.nodes[i%nodes].Name
		w.running = append(w.running, p)
	}
	before := heap()
	b, err := newBerth(w)
	if err != nil {
		return err
	}
	ours := heap() - before
	before = heap()
	k, err := newKube(w, false)
	if err != nil {
		return err
	}
	theirs := heap() - before
	t := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "nodes\tpods\tpodberth MB\tkube MB\tratio\t")
	fmt.Fprintf(t, "%d\t%d\t%.1f\t%.1f\t%.2f\t\n", nodes, len(w.running), float64(ours)/1e6, float64(theirs)/1e6, float64(ours)/float64(theirs))
	runtime.KeepAlive(b)
	k.close()
	return t.Flush()
}

// heap is what is in use after two collections.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
