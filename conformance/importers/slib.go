package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
)

var schedulerLibrary = module{path: "sigs.k8s.io/scheduler-library", version: "v0.1.0-alpha1"}

//go:embed testdata/slib/main.go
var schedulerLibrarySource string

// askSchedulerLibrary asks scheduler-library and podberth which nodes take the pods that wait in generated clusters, and what the answers cost.
func askSchedulerLibrary(tree string) error {
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for seed := *gen.Seed; seed < *gen.Seed+int64(gen.Count(300, 100)); seed++ {
		c := gen.Of(seed, gen.Shape{Nodes: 8, Pending: 6, FewNames: true, Volumes: seed%2 == 0})
		if err := enc.Encode(struct {
			Seed    int64
			Objects cluster.Objects
			Pending []*v1.Pod
		}{c.Seed, c.Objects, c.Pending}); err != nil {
			return err
		}
	}
	return schedulerLibrary.copied(func(dir string) error {
		if err := add(dir, map[string]string{"podberth/main.go": schedulerLibrarySource}); err != nil {
			return err
		}
		if err := link(dir, tree, []string{"."}); err != nil {
			return err
		}
		// Its go.mod leaves this one to the module graph, which names no version that is served.
		if _, err := command(dir, "mod", "edit", "-replace", "k8s.io/cri-streaming=k8s.io/cri-streaming@v0.36.0"); err != nil {
			return err
		}
		cmd := exec.Command("go", "run", "./podberth")
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, environment(), &in, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
		for _, name := range []string{"./pkg/simulator", "github.com/podberth/podberth/planning/estimate"} {
			out, err := command(dir, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", name)
			if err != nil {
				return err
			}
			fmt.Printf("%s: %d packages\n", name, len(bytes.Fields(out)))
		}
		return nil
	})
}
