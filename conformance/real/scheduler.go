// Package real runs kube-scheduler itself in process, over given objects: no API server, no waiting, one worker, so that
// the same input gives the same output. It is the other side of every comparison.
//
//	s, err := real.New(ctx, profile)     // once per profile: about 10 ms
//	err = s.Load(objects)                // once per cluster
//	result, err := s.Schedule(pod)       // the algorithm: filters, scores, choice
//	err = s.Assume(pod, result.SuggestedHost)
//
// Objects are given to the scheduler as they are; it may keep them, so that a caller that goes on to use them gives copies.
package real

import (
	"context"
	"errors"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/podberth/podberth/conformance/judge/wire"
)

// Scheduler is kube-scheduler with one profile.
type Scheduler struct {
	Sched *scheduler.Scheduler
	// Framework is the profile's.
	Framework framework.Framework
	// Factory has the listers that the plugins look up objects with.
	Factory informers.SharedInformerFactory

	ctx       context.Context
	logger    klog.Logger
	informers map[string]*informer
	profile   config.KubeSchedulerProfile
	plugins   map[string]plugin

	nodes     []*v1.Node
	pods      []*v1.Pod
	assumed   []*v1.Pod
	nominated []*v1.Pod
}

var registerMetrics sync.Once

// DefaultProfile returns the default scheduler's profile with all its default arguments, for callers to change.
func DefaultProfile() (config.KubeSchedulerProfile, error) {
	c, err := latest.Default()
	if err != nil {
		return config.KubeSchedulerProfile{}, err
	}
	return c.Profiles[0], nil
}

// Default starts a scheduler with the default profile and no objects. Options are those of New.
func Default(ctx context.Context, options ...scheduler.Option) (*Scheduler, error) {
	profile, err := DefaultProfile()
	if err != nil {
		return nil, err
	}
	return New(ctx, profile, options...)
}

// New starts a scheduler with no objects. Options come after those that make it deterministic.
func New(ctx context.Context, profile config.KubeSchedulerProfile, options ...scheduler.Option) (*Scheduler, error) {
	registerMetrics.Do(metrics.Register)
	s := &Scheduler{ctx: ctx, logger: klog.FromContext(ctx), profile: profile, plugins: map[string]plugin{}}
	client := fake.NewClientset()
	s.Factory = informers.NewSharedInformerFactory(client, 0)
	s.informers = map[string]*informer{}
	for name, kind := range map[string]runtime.Object{
		"pods": &v1.Pod{}, "nodes": &v1.Node{}, "namespaces": &v1.Namespace{}, "services": &v1.Service{},
		"replicationcontrollers": &v1.ReplicationController{}, "replicasets": &appsv1.ReplicaSet{},
		"statefulsets": &appsv1.StatefulSet{}, "claims": &v1.PersistentVolumeClaim{}, "volumes": &v1.PersistentVolume{},
		"classes": &storagev1.StorageClass{}, "csinodes": &storagev1.CSINode{}, "csidrivers": &storagev1.CSIDriver{},
		"capacities": &storagev1.CSIStorageCapacity{}, "attachments": &storagev1.VolumeAttachment{},
		"budgets": &policyv1.PodDisruptionBudget{}, "priorityclasses": &schedulingv1.PriorityClass{},
		"resourceclaims": &resourcev1.ResourceClaim{}, "resourceslices": &resourcev1.ResourceSlice{}, "deviceclasses": &resourcev1.DeviceClass{},
	} {
		s.informers[name] = register(s.Factory, kind, name == "pods" || name == "nodes")
	}
	all := append([]scheduler.Option{
		scheduler.WithProfiles(profile), scheduler.WithParallelism(1),
	}, options...)
	sched, err := scheduler.New(ctx, client, s.Factory, nil, recorders, all...)
	if err != nil {
		return nil, err
	}
	s.Sched = sched
	for _, fw := range sched.Profiles {
		s.Framework = fw
	}
	return s, nil
}

// LoadObjects replaces everything that the scheduler knows.
func (s *Scheduler) LoadObjects(o wire.Objects) error {
	if err := s.clear(); err != nil {
		return err
	}
	for name, objects := range map[string][]any{
		"pods": list(o.Pods), "nodes": list(o.Nodes), "namespaces": list(o.Namespaces), "services": list(o.Services),
		"replicationcontrollers": list(o.ReplicationControllers), "replicasets": list(o.ReplicaSets),
		"statefulsets": list(o.StatefulSets), "claims": list(o.Claims), "volumes": list(o.PersistentVolumes),
		"classes": list(o.StorageClasses), "csinodes": list(o.CSINodes), "csidrivers": list(o.CSIDrivers),
		"capacities": list(o.CSIStorageCapacities), "attachments": list(o.VolumeAttachments),
		"budgets": list(o.PodDisruptionBudgets), "priorityclasses": list(o.PriorityClasses),
	} {
		if err := s.informers[name].set(objects); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, n := range o.Nodes {
		s.Sched.Cache.AddNode(s.logger, n)
		s.nodes = append(s.nodes, n)
	}
	for _, p := range o.Pods {
		// The scheduler's informer leaves out pods that have ended.
		if p.Spec.NodeName == "" || p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed {
			continue
		}
		if err := s.Sched.Cache.AddPod(s.logger, p); err != nil {
			return err
		}
		s.pods = append(s.pods, p)
	}
	return s.Update()
}

// LoadDevices replaces the objects of dynamic resource allocation.
func (s *Scheduler) LoadDevices(slices []*resourcev1.ResourceSlice, classes []*resourcev1.DeviceClass, claims []*resourcev1.ResourceClaim) error {
	return errors.Join(s.informers["resourceslices"].set(list(slices)), s.informers["deviceclasses"].set(list(classes)), s.informers["resourceclaims"].set(list(claims)))
}

func list[T any](in []T) []any {
	out := make([]any, len(in))
	for i := range in {
		out[i] = in[i]
	}
	return out
}

func (s *Scheduler) clear() error {
	var errs []error
	for _, p := range s.nominated {
		s.Unnominate(p)
	}
	s.nominated = nil
	for _, p := range s.assumed {
		errs = append(errs, s.Sched.Cache.ForgetPod(s.logger, p))
	}
	for _, p := range s.pods {
		errs = append(errs, s.Sched.Cache.RemovePod(s.logger, p))
	}
	for _, n := range s.nodes {
		errs = append(errs, s.Sched.Cache.RemoveNode(s.logger, n))
	}
	s.assumed, s.pods, s.nodes = nil, nil, nil
	// Without a look at the empty cache the snapshot would keep the order of nodes that come back under the same names.
	return errors.Join(append(errs, s.Update())...)
}

// Update brings the snapshot up to date with the cache, as the scheduling cycle does at its beginning.
func (s *Scheduler) Update() error {
	return s.Sched.Cache.UpdateSnapshot(s.logger, s.Framework.SnapshotSharedLister().(*cache.Snapshot))
}

// NodeInfos returns the nodes of the snapshot in its order.
func (s *Scheduler) NodeInfos() ([]fwk.NodeInfo, error) {
	return s.Framework.SnapshotSharedLister().NodeInfos().List()
}

// Schedule runs the scheduling algorithm for one pod: filters, scores and the choice. A pod with terms that cannot be read
// is tried all the same: the plugins say what is wrong.
func (s *Scheduler) Schedule(pod *v1.Pod) (scheduler.ScheduleResult, error) {
	if err := s.Update(); err != nil {
		return scheduler.ScheduleResult{}, err
	}
	info, err := framework.NewPodInfo(pod)
	if info == nil {
		return scheduler.ScheduleResult{}, err
	}
	return s.schedule(framework.NewCycleState(), info)
}

// Assume puts a copy of the pod on a node.
func (s *Scheduler) Assume(pod *v1.Pod, node string) error {
	p := pod.DeepCopy()
	p.Spec.NodeName = node
	if err := s.Sched.Cache.AssumePod(s.logger, p); err != nil {
		return err
	}
	s.assumed = append(s.assumed, p)
	return nil
}

// Remove takes a running or assumed pod out, found by its UID.
func (s *Scheduler) Remove(pod *v1.Pod) error {
	for i, p := range s.pods {
		if p.UID == pod.UID {
			s.pods = append(s.pods[:i:i], s.pods[i+1:]...)
			return s.Sched.Cache.RemovePod(s.logger, p)
		}
	}
	for i, p := range s.assumed {
		if p.UID == pod.UID {
			s.assumed = append(s.assumed[:i:i], s.assumed[i+1:]...)
			return s.Sched.Cache.ForgetPod(s.logger, p)
		}
	}
	return fmt.Errorf("pod %s is not running", pod.Name)
}

// Context is that of the scheduler.
func (s *Scheduler) Context() context.Context { return s.ctx }

// Know lets listers find a pending pod.
func (s *Scheduler) Know(pod *v1.Pod) error { return s.informers["pods"].GetIndexer().Add(pod) }

// Nominate puts a pod with status.nominatedNodeName into the queue. Elsewhere the nominator would know its name alone: of a
// nominated pod that is not in the queue kube-scheduler takes the requests and terms for empty.
func (s *Scheduler) Nominate(pod *v1.Pod) error {
	if err := s.Know(pod); err != nil {
		return err
	}
	s.enqueue(pod)
	s.nominated = append(s.nominated, pod)
	return nil
}

// Unnominate takes it out again.
func (s *Scheduler) Unnominate(pod *v1.Pod) {
	s.dequeue(pod)
	s.Framework.DeleteNominatedPodIfExists(pod)
}
