package nopods

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// Amounts of any form in a quota, a LimitRange and a template give an answer that adds up, or one line that says what is wrong.
func FuzzAmounts(f *testing.F) {
	f.Add("500m", "1", "400m", "0", "100m", "700m", uint8(3))
	f.Add("1Gi", "", "1536Mi", "1Gi", "", "", uint8(2))
	f.Add("", "900m", "2", "", "100m", "700m", uint8(1))
	f.Add("1e30", "-1", "1n", "9223372036854775807", "0", "1Ei", uint8(9))
	f.Fuzz(func(t *testing.T, asks, limit, hard, used, least, most string, replicas uint8) {
		list := func(q string) string {
			if q == "" {
				return "{}"
			}
			return fmt.Sprintf(`{"cpu":%s}`, quoted(t, q))
		}
		template := fmt.Sprintf(`{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"web","resources":{"requests":%s,"limits":%s}}]}}`, list(asks), list(limit))
		text := strings.Join([]string{
			fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","namespace":"shop"},"spec":{"replicas":%d,"selector":{"matchLabels":{"app":"web"}},"template":%s}}`, replicas%20, template),
			fmt.Sprintf(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"shop"},"spec":{"hard":%[1]s},"status":{"hard":%[1]s,"used":%[2]s}}`, list(hard), list(used)),
			fmt.Sprintf(`{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l","namespace":"shop"},"spec":{"limits":[{"type":"Container","min":%s,"max":%s}]}}`, list(least), list(most)),
		}, "\n")
		var out, errs bytes.Buffer
		if code := Run(t.Context(), []string{"-f=-", "-o=json", "-workload=replicaset/shop/web"}, strings.NewReader(text), &out, &errs); code != 0 {
			require.Equal(t, 2, code)
			require.Empty(t, out.String())
			require.NotEmpty(t, errs.String())
			return
		}
		var a answer
		require.NoError(t, json.Unmarshal(out.Bytes(), &a))
		require.LessOrEqual(t, a.Refused, a.Missing)
		require.Equal(t, a.State == refused, a.Refused > 0)
		require.Equal(t, a.State == refused, a.Message != "")
		before := a.Missing
		for _, x := range a.Fixes {
			require.Greater(t, x.Lets, a.Missing-a.Refused, "a fix lets more pods in")
			require.LessOrEqual(t, x.Lets, before, "the best first")
			before = x.Lets
		}
	})
}

func quoted(t *testing.T, text string) string {
	data, err := json.Marshal(text)
	require.NoError(t, err)
	return string(data)
}

// A Deployment of ten pods that a quota refuses, in a cluster of 5,000 nodes and 50,000 pods.
func BenchmarkNoPods5000(b *testing.B) {
	o := &dump.Objects{}
	for k := range 5000 {
		n := fmt.Sprintf("n%d", k)
		o.Nodes = append(o.Nodes, testkit.Node(n).Capacity("cpu=16,memory=64Gi,pods=110").Obj())
		for i := range 10 {
			p := testkit.Pod(fmt.Sprintf("p%d-%d", k, i)).Labels("app=other").Request("cpu=1").On(n).Obj()
			p.Spec.Priority, p.Status.Phase = new(int32(0)), v1.PodRunning
			o.Pods = append(o.Pods, p)
		}
	}
	p := testkit.Pod("web").Labels("app=web").Request("cpu=500m").Obj()
	p.Spec.Containers[0].Image = "web"
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	d.Spec.Replicas, d.Spec.Selector, d.Spec.Template.Labels, d.Spec.Template.Spec = new(int32(10)), &metav1.LabelSelector{MatchLabels: p.Labels}, p.Labels, p.Spec
	o.Deployments = append(o.Deployments, d)
	quota := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}, Spec: v1.ResourceQuotaSpec{Hard: v1.ResourceList{"requests.cpu": testkit.Resources("cpu=2")["cpu"]}}}
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, v1.ResourceList{"requests.cpu": testkit.Resources("cpu=0")["cpu"]}
	o.ResourceQuotas = append(o.ResourceQuotas, quota)
	in := dump.Hold(o)
	for b.Loop() {
		var out, errs bytes.Buffer
		code := Run(b.Context(), []string{"-f=-", "-o=json", "-workload=deployment/default/web"}, in, &out, &errs)
		require.Zero(b, code, errs.String())
		require.Contains(b, out.String(), "exceeded quota: q")
	}
}
