package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/examples/live/feed"
)

// fakeAPI answers as an API server without objects does. The token "operator" is that of a user who may read every path. A list in
// held is answered when the channel is closed.
type fakeAPI struct {
	held map[string]chan struct{} // by resource

	mu    sync.Mutex
	lease json.RawMessage
	asked int // times that somebody has read the lease
}

// startAPI starts the server, and returns a kubeconfig for it.
func startAPI(t *testing.T, a http.Handler) (kubeconfig string) {
	t.Helper()
	s := httptest.NewServer(a)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`, s.URL), 0o600))
	return path
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	last := parts[len(parts)-1]
	switch {
	case last == "tokenreviews":
		var x authenticationv1.TokenReview
		a.review(w, r, &x, func() {
			x.Status = authenticationv1.TokenReviewStatus{Authenticated: x.Spec.Token == "operator", User: authenticationv1.UserInfo{Username: x.Spec.Token}}
		})
	case last == "subjectaccessreviews":
		var x authorizationv1.SubjectAccessReview
		a.review(w, r, &x, func() { x.Status.Allowed = x.Spec.User == "operator" })
	case last == "selfsubjectaccessreviews":
		var x authorizationv1.SelfSubjectAccessReview
		a.review(w, r, &x, func() { x.Status.Allowed = true })
	case slices.Contains(parts, "leases"):
		a.leases(w, r)
	case r.Method == http.MethodPost: // an event
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"e","namespace":"default"}}`)
	case r.URL.Query().Get("sendInitialEvents") == "true":
		refused(w, http.StatusForbidden, "Forbidden")
	case r.URL.Query().Get("watch") == "true":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		a.get(w, r, parts)
	}
}

// review answers a review.
func (a *fakeAPI) review(w http.ResponseWriter, r *http.Request, x any, decide func()) {
	if err := json.NewDecoder(r.Body).Decode(x); err != nil {
		refused(w, http.StatusBadRequest, "BadRequest")
		return
	}
	decide()
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(x) // the caller has hung up
}

// reads returns how often somebody has read the lease.
func (a *fakeAPI) reads() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// leases keeps one lease.
func (a *fakeAPI) leases(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Method == http.MethodGet {
		a.asked++
	} else {
		var lease json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&lease); err != nil {
			refused(w, http.StatusBadRequest, "BadRequest")
			return
		}
		a.lease = lease
	}
	if a.lease == nil {
		refused(w, http.StatusNotFound, "NotFound")
		return
	}
	_, _ = w.Write(a.lease) // the caller has hung up
}

// get answers discovery and lists.
func (a *fakeAPI) get(w http.ResponseWriter, r *http.Request, parts []string) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	served := false
	for _, k := range append(feed.Kinds(), podsKind, eventsKind) {
		prefix := "/apis/" + k.GroupVersion().String()
		if k.Group == "" {
			prefix = "/api/" + k.Version
		}
		switch r.URL.Path {
		case prefix:
			list.GroupVersion = k.GroupVersion().String()
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: k.Resource})
		case prefix + "/" + k.Resource:
			if held := a.held[k.Resource]; held != nil {
				select {
				case <-held:
				case <-r.Context().Done():
					return
				}
			}
			served = true
		}
	}
	switch {
	case served:
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"},"items":[]}`)
	case list.GroupVersion != "":
		_ = json.NewEncoder(w).Encode(list) // the caller has hung up
	default:
		refused(w, http.StatusNotFound, "NotFound")
	}
}

func refused(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
}
