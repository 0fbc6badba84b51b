package apitest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/podberth/podberth/scheduler/live/feed"
)

// target is what the path of a request names.
type target struct {
	prefix                             string // as /api/v1
	namespace, resource, name, subpath string
}

func (t target) resources() string { return t.prefix + "/" + t.resource }

func (t target) key() string {
	out := t.resources() + "|"
	if t.namespace != "" {
		out += t.namespace + "/"
	}
	return out + t.resource + "/" + t.name
}

func targetOf(path string) (t target) {
	parts := append(strings.Split(strings.Trim(path, "/"), "/"), make([]string, 6)...)
	n := 2 // parts of the prefix
	if parts[0] == "apis" {
		n = 3
	}
	t.prefix, parts = "/"+strings.Join(parts[:n], "/"), parts[n:]
	if parts[0] == "namespaces" && parts[2] != "" {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource, t.name, t.subpath = parts[0], parts[1], parts[2]
	return t
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	if a.asked == nil {
		a.asked = map[string]int{}
	}
	a.asked[r.Method+" "+r.URL.Path]++
	a.mu.Unlock()
	if a.Answer != nil && a.Answer(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		Refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	at := targetOf(r.URL.Path)
	switch {
	case strings.HasSuffix(at.resource, "reviews"):
		review(w, at.resource, body)
	case at.resource == "":
		discovery(w, at)
	case r.Method == http.MethodGet && at.name != "":
		a.read(w, at)
	case r.URL.Query().Get("sendInitialEvents") == "true":
		Refuse(w, http.StatusForbidden, "Forbidden")
	case r.URL.Query().Get("watch") == "true":
		a.watch(w, r, at)
	case r.Method == http.MethodGet:
		a.list(w, r, at)
	default:
		a.write(w, r.Method, at, body)
	}
}

// Refuse answers with a failure.
func Refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
}

func answer(w http.ResponseWriter, code int, x any) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(x) // the caller has hung up
}

// review answers who a user is and what it may do.
func review(w http.ResponseWriter, resource string, body []byte) {
	decide := func(x any, status func()) {
		if err := json.Unmarshal(body, x); err != nil {
			Refuse(w, http.StatusBadRequest, "BadRequest")
			return
		}
		status()
		answer(w, http.StatusCreated, x)
	}
	switch resource {
	case "tokenreviews":
		var x authenticationv1.TokenReview
		decide(&x, func() {
			x.Status = authenticationv1.TokenReviewStatus{Authenticated: x.Spec.Token == "operator", User: authenticationv1.UserInfo{Username: x.Spec.Token}}
		})
	case "subjectaccessreviews":
		var x authorizationv1.SubjectAccessReview
		decide(&x, func() { x.Status.Allowed = x.Spec.User == "operator" })
	default:
		var x authorizationv1.SelfSubjectAccessReview
		decide(&x, func() { x.Status.Allowed = true })
	}
}

// discovery answers which resources of a version are served: those that the feed reads.
func discovery(w http.ResponseWriter, at target) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, k := range append(feed.Kinds(), schema.GroupVersionResource{Version: "v1", Resource: "pods"}, schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}) {
		if at.prefix == "/api/"+k.GroupVersion().String() || at.prefix == "/apis/"+k.GroupVersion().String() {
			list.GroupVersion = k.GroupVersion().String()
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: k.Resource})
		}
	}
	if list.GroupVersion == "" {
		Refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	answer(w, http.StatusOK, list)
}

func (a *API) read(w http.ResponseWriter, at target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o := a.objects[at.key()]; o != nil {
		answer(w, http.StatusOK, o.Object)
		return
	}
	Refuse(w, http.StatusNotFound, "NotFound")
}

func (a *API) list(w http.ResponseWriter, r *http.Request, at target) {
	if held := a.Held[at.resource]; held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	selector, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		Refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	items := []any{}
	for _, key := range slices.Sorted(maps.Keys(a.objects)) {
		node, _, _ := unstructured.NestedString(a.objects[key].Object, "spec", "nodeName")
		phase, _, _ := unstructured.NestedString(a.objects[key].Object, "status", "phase")
		if strings.HasPrefix(key, at.resources()+"|") && selector.Matches(fields.Set{"spec.nodeName": node, "status.phase": phase}) {
			items = append(items, a.objects[key].Object)
		}
	}
	answer(w, http.StatusOK, map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(a.version)}, "items": items})
}

func (a *API) watch(w http.ResponseWriter, r *http.Request, at target) {
	version, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		Refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	for {
		changes, next := a.since(version, at.resources())
		for _, c := range changes {
			fmt.Fprintf(w, `{"type":%q,"object":%s}`, c.kind, c.object)
			version = c.version
		}
		w.(http.Flusher).Flush()
		select {
		case <-next:
		case <-r.Context().Done():
			return
		}
	}
}

// write creates, binds, replaces, patches or deletes an object.
func (a *API) write(w http.ResponseWriter, method string, at target, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	given := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &given.Object); err != nil {
		Refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	if method == http.MethodPost && at.subpath == "" {
		if given.GetName() == "" {
			given.SetName(fmt.Sprintf("%s%05d", given.GetGenerateName(), a.version))
		}
		given.SetUID("") // the server gives it
		at.name = given.GetName()
		if a.objects[at.key()] != nil {
			Refuse(w, http.StatusConflict, "AlreadyExists")
			return
		}
		a.keep(at, given)
		answer(w, http.StatusCreated, given.Object)
		return
	}
	old := a.objects[at.key()]
	if old == nil {
		Refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	uid := given.GetUID()
	if method == http.MethodDelete {
		text, _, _ := unstructured.NestedString(given.Object, "preconditions", "uid")
		given.SetUID(old.GetUID())
		if text != "" && text != string(old.GetUID()) {
			uid = "another"
		}
	}
	if uid != "" && uid != old.GetUID() || given.GetResourceVersion() != "" && given.GetResourceVersion() != old.GetResourceVersion() {
		Refuse(w, http.StatusConflict, "Conflict")
		return
	}
	switch method {
	case http.MethodPost:
		a.bind(w, at, old, body)
	case http.MethodPut:
		now, status := given, old.Object["status"]
		if at.subpath == "status" {
			now, status = old.DeepCopy(), given.Object["status"]
		}
		if now.Object["status"] = status; status == nil {
			delete(now.Object, "status")
		}
		a.keep(at, now)
		answer(w, http.StatusOK, now.Object)
	case http.MethodPatch:
		a.patch(w, at, old, body)
	case http.MethodDelete:
		a.drop(at.key())
		answer(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	}
}

// bind gives a pod its node.
func (a *API) bind(w http.ResponseWriter, at target, old *unstructured.Unstructured, body []byte) {
	var b v1.Binding
	if node, _, _ := unstructured.NestedString(old.Object, "spec", "nodeName"); node != "" || json.Unmarshal(body, &b) != nil {
		Refuse(w, http.StatusConflict, "Conflict")
		return
	}
	now := old.DeepCopy()
	_ = unstructured.SetNestedField(now.Object, b.Target.Name, "spec", "nodeName") // every pod has a spec
	at.subpath = ""
	a.keep(at, now)
	answer(w, http.StatusCreated, metav1.Status{Status: metav1.StatusSuccess})
}

// patch merges a patch into a pod or an event.
func (a *API) patch(w http.ResponseWriter, at target, old *unstructured.Unstructured, body []byte) {
	var kind any = eventsv1.Event{}
	if at.resource == "pods" {
		kind = v1.Pod{}
	}
	before, err := old.MarshalJSON()
	if err == nil {
		before, err = strategicpatch.StrategicMergePatch(before, body, kind)
	}
	now := &unstructured.Unstructured{}
	if err != nil || now.UnmarshalJSON(before) != nil {
		Refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	a.keep(at, now)
	answer(w, http.StatusOK, now.Object)
}
