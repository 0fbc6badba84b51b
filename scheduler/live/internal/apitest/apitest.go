// Package apitest is a small API server for tests: it keeps objects, lists and watches them, and binds pods.
//
// It has no admission, no validation and no defaults. A watch ignores field selectors. The token "operator" is that of a user who may
// do everything.
package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// API is an API server. The zero value has no objects.
type API struct {
	// Held has resources whose lists are answered when the channel is closed.
	Held map[string]chan struct{}
	// Answer answers a request in the server's place, and reports whether it has; nil answers nothing.
	Answer func(w http.ResponseWriter, r *http.Request) bool

	mu      sync.Mutex
	version int
	objects map[string]*unstructured.Unstructured // by target.key
	changes []change
	changed chan struct{} // is closed at the next change
	asked   map[string]int
}

// change is what a watch shows.
type change struct {
	version  int
	resource string // target.resources
	kind     string // ADDED, MODIFIED or DELETED
	object   json.RawMessage
}

// Start serves until the test ends, and returns the URL.
func (a *API) Start(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(a)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// Put creates or replaces objects.
func (a *API) Put(t *testing.T, objects ...runtime.Object) {
	t.Helper()
	for _, o := range objects {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		require.NoError(t, err)
		data, err := runtime.Encode(scheme.Codecs.LegacyCodec(kinds[0].GroupVersion()), o)
		require.NoError(t, err)
		u := &unstructured.Unstructured{}
		require.NoError(t, u.UnmarshalJSON(data))
		resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
		at := target{prefix: "/apis/" + resource.GroupVersion().String(), resource: resource.Resource, namespace: u.GetNamespace(), name: u.GetName()}
		if resource.Group == "" {
			at.prefix = "/api/" + resource.Version
		}
		a.mu.Lock()
		a.keep(at, u)
		a.mu.Unlock()
	}
}

// Get reads an object by its path below the version, as "default/pods/p" or "nodes/n". It reports whether there is one.
func (a *API) Get(path string, into any) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, o := range a.objects {
		if strings.HasSuffix(key, "|"+path) {
			return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into) == nil
		}
	}
	return false
}

// Find reads the first object of a resource in the order of their paths. It reports whether there is one.
func (a *API) Find(resource string, into any) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(a.objects)) {
		if strings.Contains(key, "/"+resource+"|") {
			return runtime.DefaultUnstructuredConverter.FromUnstructured(a.objects[key].Object, into) == nil
		}
	}
	return false
}

// Remove deletes an object by its path below the version.
func (a *API) Remove(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.objects {
		if strings.HasSuffix(key, "|"+path) {
			a.drop(key)
		}
	}
}

// Asked returns how often a method was asked for a path.
func (a *API) Asked(method, path string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[method+" "+path]
}

// keep stores an object. The caller has the lock.
func (a *API) keep(at target, o *unstructured.Unstructured) {
	kind := "MODIFIED"
	before := a.objects[at.key()]
	if before == nil {
		kind = "ADDED"
	}
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprint("uid-", a.version+1)))
	}
	if a.objects == nil {
		a.objects = map[string]*unstructured.Unstructured{}
	}
	a.objects[at.key()] = o
	a.tell(kind, at.resources(), o)
}

// drop removes an object. The caller has the lock.
func (a *API) drop(key string) {
	o := a.objects[key]
	delete(a.objects, key)
	resource, _, _ := strings.Cut(key, "|")
	a.tell("DELETED", resource, o)
}

// tell gives the object its version and shows the change to every watch. The caller has the lock.
func (a *API) tell(kind, resource string, o *unstructured.Unstructured) {
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	data, err := json.Marshal(o.Object)
	if err != nil {
		panic(err) // it came from JSON
	}
	a.changes = append(a.changes, change{a.version, resource, kind, data})
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// since returns the changes of a resource after a version, and a channel that is closed at the next change.
func (a *API) since(version int, resource string) (out []change, next <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.changes {
		if c.version > version && c.resource == resource {
			out = append(out, c)
		}
	}
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return out, a.changed
}
