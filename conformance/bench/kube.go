package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

func init() {
	metrics.Register()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}

// kube is kube-scheduler in this process, without its queue and binding.
type kube struct {
	ctx   context.Context
	stop  context.CancelFunc
	sched *scheduler.Scheduler
	fw    framework.Framework
	state fwk.CycleState // of the latest decision
}

// newKube fills the cache directly with nodes and pods; other objects come through informers.
func newKube(w world, sampling bool) (*kube, error) {
	others := w.storage.objects()
	others = appendObjects(others, w.namespaces)
	others = appendObjects(others, w.services)
	others = appendObjects(others, w.budgets)
	others = appendObjects(others, w.slices)
	others = appendObjects(others, w.classes)
	others = appendObjects(others, w.claims)
	others = appendObjects(others, w.nominated) // they go to the queue, where the nominator finds them
	client := fake.NewClientset(others...)
	ctx, stop := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(client, 0)
	recorder := profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}))
	percentage := int32(100)
	if sampling {
		percentage = 0
	}
	sched, err := scheduler.New(ctx, client, factory, nil, recorder, scheduler.WithPercentageOfNodesToScore(&percentage))
	if err != nil {
		stop()
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		stop()
		return nil, err
	}
	k := &kube{ctx: ctx, stop: stop, sched: sched, fw: sched.Profiles[v1.DefaultSchedulerName]}
	logger := klog.FromContext(ctx)
	for _, n := range w.nodes {
		sched.Cache.AddNode(logger, n)
	}
	for _, p := range w.running {
		if err := sched.Cache.AddPod(logger, p); err != nil {
			return nil, err
		}
	}
	if err := k.seesDevices(w); err != nil {
		return nil, err
	}
	return k, k.refresh()
}

// seesDevices waits until the caches of claims and slices have everything.
func (k *kube) seesDevices(w world) error {
	manager := k.fw.SharedDRAManager()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		claims, err := manager.ResourceClaims().List()
		if err != nil {
			return err
		}
		slices, err := manager.ResourceSlices().ListWithDeviceTaintRules()
		if err != nil {
			return err
		}
		classes, err := manager.DeviceClasses().List()
		if err != nil {
			return err
		}
		if len(claims) == len(w.claims) && len(slices) == len(w.slices) && len(classes) == len(w.classes) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("kube-scheduler sees %d claims, %d slices and %d classes", len(claims), len(slices), len(classes))
		}
	}
}

func (k *kube) refresh() error {
	snapshot, ok := k.fw.SnapshotSharedLister().(*schedulercache.Snapshot)
	if !ok {
		return errors.New("the framework has no snapshot")
	}
	return k.sched.Cache.UpdateSnapshot(klog.FromContext(k.ctx), snapshot)
}

// decide returns the node, or "" and kube-scheduler's message.
func (k *kube) decide(pod *v1.Pod) (node, message string, err error) {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return "", "", err
	}
	if err := k.refresh(); err != nil {
		return "", "", err
	}
	k.state = framework.NewCycleState()
	result, err := k.sched.SchedulePod(k.ctx, k.fw, k.state, &framework.QueuedPodInfo{PodInfo: info})
	var fit *framework.FitError
	if errors.As(err, &fit) {
		return "", fit.Error(), nil
	}
	if err != nil {
		return "", "", err
	}
	return result.SuggestedHost, "", nil
}

func (k *kube) assume(pod *v1.Pod, node string) error {
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := k.sched.Cache.AssumePod(klog.FromContext(k.ctx), assumed); err != nil {
		return err
	}
	if len(pod.Spec.ResourceClaims) == 0 && len(pod.Spec.Volumes) == 0 {
		return nil
	}
	return k.fw.RunReservePluginsReserve(k.ctx, k.state, assumed, node).AsError()
}

func (k *kube) removePod(p *v1.Pod) error { return k.sched.Cache.RemovePod(klog.FromContext(k.ctx), p) }

func (k *kube) updateNode(old, node *v1.Node) error {
	k.sched.Cache.UpdateNode(klog.FromContext(k.ctx), old, node)
	return nil
}

func (k *kube) close() { k.stop() }
