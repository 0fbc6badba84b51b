package devices

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/conformance/real"
)

// apiServer answers the scheduler's requests about claims, and keeps what the scheduler writes. The clientset's own tracker
// gives no names and no versions.
type apiServer struct {
	scheduler *real.Scheduler
	claims    map[string]*resourcev1.ResourceClaim // by name: there is one namespace
	told      map[string]*resourcev1.ResourceClaim // what the scheduler's informers have
	statuses  map[string]*v1.PodExtendedResourceClaimStatus
	version   int
}

var claimResource = schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}

func serve(s *real.Scheduler) *apiServer {
	a := &apiServer{scheduler: s}
	s.Client().PrependReactor("*", "resourceclaims", a.onClaim)
	s.Client().PrependReactor("patch", "pods", a.onPod)
	return a
}

// reset replaces all claims.
func (a *apiServer) reset(claims []*resourcev1.ResourceClaim) error {
	for name := range a.claims {
		delete(a.claims, name)
	}
	if _, err := a.sync(); err != nil {
		return err
	}
	a.claims, a.told, a.statuses = map[string]*resourcev1.ResourceClaim{}, map[string]*resourcev1.ResourceClaim{}, map[string]*v1.PodExtendedResourceClaimStatus{}
	for _, c := range claims {
		a.put(c)
	}
	_, err := a.sync()
	return err
}

// put stores a claim under the next version.
func (a *apiServer) put(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	a.version++
	c = c.DeepCopy()
	c.ResourceVersion = strconv.Itoa(a.version)
	a.claims[c.Name] = c
	return c
}

// remove deletes a claim, or marks the claim when it has a finalizer.
func (a *apiServer) remove(name string) {
	c := a.claims[name]
	if len(c.Finalizers) == 0 {
		delete(a.claims, name)
		return
	}
	if c.DeletionTimestamp == nil {
		c = c.DeepCopy()
		c.DeletionTimestamp = ptr(metav1.NewTime(time.Unix(1, 0)))
		a.put(c)
	}
}

// change is an event about a claim.
type change struct{ old, new *resourcev1.ResourceClaim }

// sync tells the scheduler's informers all changes since the last call, in the order of names, and returns the changes.
func (a *apiServer) sync() (out []change, err error) {
	names := map[string]bool{}
	for name := range a.claims {
		names[name] = true
	}
	for name := range a.told {
		names[name] = true
	}
	for _, name := range sorted(names) {
		c := change{a.told[name], a.claims[name]}
		if c.old == c.new {
			continue
		}
		out = append(out, c)
		if err := a.scheduler.ChangeClaim(c.old, c.new); err != nil {
			return out, err
		}
		if a.told[name] = c.new; c.new == nil {
			delete(a.told, name)
		}
	}
	return out, nil
}

func sorted(names map[string]bool) (out []string) {
	for name := range names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (a *apiServer) onClaim(action clienttesting.Action) (bool, runtime.Object, error) {
	switch x := action.(type) {
	case clienttesting.CreateAction: // and updates, which have the same methods
		c := x.GetObject().(*resourcev1.ResourceClaim).DeepCopy()
		if action.GetVerb() == "create" {
			if c.Name == "" {
				c.Name = c.GenerateName + strconv.Itoa(a.version)
			}
			c.UID = types.UID(c.Name)
			c = a.put(c)
			a.told[c.Name] = c // the scheduler waits until its informer has the claim
			return true, c.DeepCopy(), a.scheduler.ChangeClaim(nil, c)
		}
		stored := a.claims[c.Name]
		switch {
		case stored == nil:
			return true, nil, apierrors.NewNotFound(claimResource, c.Name)
		case c.ResourceVersion != "" && c.ResourceVersion != stored.ResourceVersion:
			return true, nil, apierrors.NewConflict(claimResource, c.Name, fmt.Errorf("version %s is %s now", c.ResourceVersion, stored.ResourceVersion))
		}
		next := stored.DeepCopy()
		if action.GetSubresource() == "status" {
			next.Status = c.Status
		} else {
			next.ObjectMeta, next.Spec = c.ObjectMeta, c.Spec
		}
		if next.DeletionTimestamp != nil && len(next.Finalizers) == 0 {
			delete(a.claims, c.Name)
			return true, next, nil
		}
		return true, a.put(next), nil
	case clienttesting.DeleteAction:
		stored := a.claims[x.GetName()]
		if stored == nil {
			return true, nil, apierrors.NewNotFound(claimResource, x.GetName())
		}
		a.remove(stored.Name)
		return true, nil, nil
	case clienttesting.PatchAction:
		return a.patch(x)
	case clienttesting.GetAction:
		stored := a.claims[x.GetName()]
		if stored == nil {
			return true, nil, apierrors.NewNotFound(claimResource, x.GetName())
		}
		return true, stored.DeepCopy(), nil
	}
	return true, nil, fmt.Errorf("%s of claims is not expected", action.GetVerb())
}

func (a *apiServer) patch(x clienttesting.PatchAction) (bool, runtime.Object, error) {
	stored := a.claims[x.GetName()]
	if stored == nil {
		return true, nil, apierrors.NewNotFound(claimResource, x.GetName())
	}
	if x.GetPatchType() != types.StrategicMergePatchType {
		return true, nil, fmt.Errorf("patch of type %s is not expected", x.GetPatchType())
	}
	before, err := json.Marshal(stored)
	if err != nil {
		return true, nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, x.GetPatch(), resourcev1.ResourceClaim{})
	if err != nil {
		return true, nil, err
	}
	next := stored.DeepCopy()
	var patched resourcev1.ResourceClaim
	if err := json.Unmarshal(after, &patched); err != nil {
		return true, nil, err
	}
	next.Status = patched.Status
	return true, a.put(next), nil
}

func (a *apiServer) onPod(action clienttesting.Action) (bool, runtime.Object, error) {
	x := action.(clienttesting.PatchAction)
	var pod v1.Pod
	if err := json.Unmarshal(x.GetPatch(), &pod); err != nil {
		return true, nil, err
	}
	pod.Name, pod.Namespace = x.GetName(), x.GetNamespace()
	a.statuses[x.GetName()] = pod.Status.ExtendedResourceClaimStatus
	return true, &pod, nil
}
