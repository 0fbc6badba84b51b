// Command v1_28 prints the events that every default plugin of kube-scheduler v1.28.1 registers, as the real plugin says:
//
//	GOWORK=off go run . > ../../../history/testdata/events_v1.28.1.txt
//	GOWORK=off go run . -gates InPlacePodVerticalScaling=true > ../../../history/testdata/events_v1.28.1_resize.txt
//
// A line has the plugin, the resource, the action in bits, the action in words, and "hint" where the plugin judges events.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

func main() {
	gates := flag.String("gates", "", "feature gates, as kube-scheduler's --feature-gates")
	flag.Parse()
	if err := run(*gates); err != nil {
		fmt.Fprintln(os.Stderr, "v1_28:", err)
		os.Exit(1)
	}
}

func run(gates string) error {
	if err := utilfeature.DefaultMutableFeatureGate.Set(gates); err != nil {
		return err
	}
	config, err := latest.Default()
	if err != nil {
		return err
	}
	made := map[string]framework.Plugin{} // as the framework made them
	registry := frameworkruntime.Registry{}
	for name, factory := range plugins.NewInTreeRegistry() {
		name, factory := name, factory
		registry[name] = func(args runtime.Object, h framework.Handle) (framework.Plugin, error) {
			p, err := factory(args, h)
			made[name] = p
			return p, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewSimpleClientset()
	profile := config.Profiles[0]
	_, err = frameworkruntime.NewFramework(ctx, registry, &profile,
		frameworkruntime.WithClientSet(client), frameworkruntime.WithSnapshotSharedLister(noNodes{}),
		frameworkruntime.WithInformerFactory(informers.NewSharedInformerFactory(client, 0)))
	if err != nil {
		return err
	}
	fmt.Printf("# kube-scheduler v1.28.1, default profile, feature gates %q\n", gates)
	for _, enabled := range profile.Plugins.MultiPoint.Enabled {
		p, ok := made[enabled.Name].(framework.EnqueueExtensions)
		if !ok {
			fmt.Printf("# %s: without EnqueueExtensions\n", enabled.Name)
			continue
		}
		print(p.Name(), p.EventsToRegister())
	}
	fmt.Println("# every plugin without EnqueueExtensions")
	print("*", framework.UnrollWildCardResource())
	return nil
}

func print(plugin string, events []framework.ClusterEventWithHint) {
	if len(events) == 0 {
		fmt.Printf("# %s: no events\n", plugin)
	}
	for _, e := range events {
		hint := ""
		if e.QueueingHintFn != nil {
			hint = " hint"
		}
		fmt.Printf("%s %s %d %s%s\n", plugin, e.Event.Resource, e.Event.ActionType, words(e.Event.ActionType), hint)
	}
}

// words names the actions of v1.28.1.
func words(a framework.ActionType) string {
	if a == framework.All {
		return "All"
	}
	var out []string
	for _, w := range []struct {
		action framework.ActionType
		name   string
	}{
		{framework.Add, "Add"}, {framework.Delete, "Delete"}, {framework.Update, "Update"}, {framework.UpdateNodeAllocatable, "UpdateNodeAllocatable"},
		{framework.UpdateNodeLabel, "UpdateNodeLabel"}, {framework.UpdateNodeTaint, "UpdateNodeTaint"}, {framework.UpdateNodeCondition, "UpdateNodeCondition"},
	} {
		if a&w.action == w.action {
			out = append(out, w.name)
			a &^= w.action
		}
	}
	return strings.Join(out, "|")
}

// noNodes is the snapshot that plugins are made with. Nobody asks about nodes.
type noNodes struct{ framework.SharedLister }
