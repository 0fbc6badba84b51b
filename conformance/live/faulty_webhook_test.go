package live

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// Namespaces with the label meddled have a webhook that changes pods when they are bound: it gives them an annotation, and where the label is
// moves it sends every third to the node elsewhere, which has room for all and which no pod tolerates.
const (
	meddled   = "example.com/meddled"
	marks     = "marks"
	moves     = "moves"
	elsewhere = "elsewhere"
)

// meddler is the webhook.
type meddler struct {
	mu    sync.Mutex
	asked int
	moves map[string]bool // namespaces
}

// startMeddler serves the webhook until the end of the test, and tells the API server of it.
func startMeddler(t *testing.T, api kubernetes.Interface) *meddler {
	m := &meddler{moves: map[string]bool{}}
	s := httptest.NewTLSServer(impatient(func(_ context.Context, a admissionv1.AdmissionReview) (admissionv1.AdmissionReview, bool) {
		return m.review(a), true
	}))
	t.Cleanup(s.Close)
	url := s.URL + "/"
	_, err := api.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "meddler"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "meddler.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy:     ptr.To(admissionregistrationv1.Fail),
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: meddled, Operator: metav1.LabelSelectorOpExists}}},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/binding"}},
			}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return m
}

func (m *meddler) review(a admissionv1.AdmissionReview) admissionv1.AdmissionReview {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	patch := []map[string]any{{"op": "add", "path": "/metadata/annotations", "value": map[string]string{meddled: fmt.Sprint(m.asked)}}}
	if m.moves[a.Request.Namespace] && m.asked%3 == 0 {
		patch = append(patch, map[string]any{"op": "replace", "path": "/target/name", "value": elsewhere})
	}
	body, err := json.Marshal(patch)
	answer := &admissionv1.AdmissionResponse{UID: a.Request.UID, Allowed: err == nil, Patch: body, PatchType: ptr.To(admissionv1.PatchTypeJSONPatch)}
	return admissionv1.AdmissionReview{TypeMeta: a.TypeMeta, Response: answer}
}

// bindings returns how many bindings the webhook has changed.
func (m *meddler) bindings() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// meddle chooses what the webhook does in the namespace of a schedule.
func (m *meddler) meddle(space *v1.Namespace, how string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if how == "" {
		return
	}
	space.Labels = map[string]string{meddled: how}
	m.moves[space.Name] = how == moves
}

// hostless is the node that the webhook sends pods to.
func hostless() *v1.Node {
	return newNode(elsewhere, "1000", func(n *v1.Node) {
		n.Spec.Taints = []v1.Taint{{Key: meddled, Effect: v1.TaintEffectNoSchedule}}
	})
}
