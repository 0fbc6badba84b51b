// Command nodefit runs in a copy of the descheduler. It reads clusters as JSON lines, and prints for each of them what NodeFit says about each of
// its pods and each of its nodes: "" for yes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
)

func main() {
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "nodefit:", err)
		os.Exit(1)
	}
}

func answer(from io.Reader, to io.Writer) error {
	in, out := json.NewDecoder(from), json.NewEncoder(to)
	for {
		var c struct {
			Nodes []*v1.Node
			Pods  []*v1.Pod
		}
		if err := in.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		index := func(name string, keep podutil.FilterFunc) (on []*v1.Pod, err error) {
			for _, p := range c.Pods {
				if p.Spec.NodeName == name && (keep == nil || keep(p)) {
					on = append(on, p)
				}
			}
			return on, nil
		}
		answers := make([][]string, len(c.Pods))
		for i, p := range c.Pods {
			for _, n := range c.Nodes {
				text := ""
				if err := node.NodeFit(context.Background(), index, p, n); err != nil {
					text = err.Error()
				}
				answers[i] = append(answers[i], text)
			}
		}
		if err := out.Encode(answers); err != nil {
			return err
		}
	}
}
