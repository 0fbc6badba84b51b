package evictionapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/conformance/apiserver"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/preflight"
)

// Program preflight names every blocker of the scenarios by which people judge tools that look before an upgrade. The API server refuses
// the evictions that preflight calls refused by a budget, for the budgets that preflight names, and no other. kubectl drain refuses the
// pods that preflight calls pinned: a pod without a controller and one with local data. A pod whose volume is elsewhere leaves and gets no node.
func TestPreflight(t *testing.T) {
	const file = "../../tools/preflight/testdata/cluster.yaml"
	var out, errs bytes.Buffer
	require.Equal(t, 1, preflight.Run(t.Context(), []string{"-f", file, "-to", "1.37", "-o", "json"}, nil, &out, &errs), errs.String())
	var says blockedPods
	require.NoError(t, json.Unmarshal(out.Bytes(), &says))
	kinds := map[string]string{}
	for _, b := range says.Blocked {
		for _, p := range b.Pods {
			kinds[p] = b.Kind
		}
	}

	s := start(t)
	const space = "shop"
	made, err := s.post("/api/v1/namespaces", v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, made.code, "%s", made.body)
	objects, err := dump.Read([]string{file}, nil, dump.Options{})
	require.NoError(t, err)
	scale := disruption.NewScale(objects.Workloads())
	stored := map[string]any{}
	for _, b := range objects.PodDisruptionBudgets {
		b.APIVersion, b.Kind, b.UID = "policy/v1", "PodDisruptionBudget", "uid-"+b.UID
		b.Status = disruption.Sync(b, objects.Pods, scale, time.Now()).Status
		stored[apiserver.Prefix+"/poddisruptionbudgets/"+space+"/"+b.Name] = b
	}
	for _, p := range objects.Pods {
		p.APIVersion, p.Kind = "v1", "Pod"
		stored[apiserver.Prefix+"/pods/"+space+"/"+p.Name] = p
	}
	for _, d := range objects.DaemonSets {
		d.APIVersion, d.Kind = "apps/v1", "DaemonSet"
		stored[apiserver.Prefix+"/daemonsets/"+space+"/"+d.Name] = d
	}
	_, err = s.store(stored)
	require.NoError(t, err)

	refused, budgets := 0, map[string]bool{}
	for _, p := range objects.Pods {
		name := space + "/" + p.Name
		eviction := policyv1.Eviction{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"}, ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: p.Name}}
		query := "?dryRun=All" // every question is about the same state
		byBudget := slices.Contains([]string{"never", "unhealthy"}, kinds[name]) || name == "shop/sick-0"
		if byBudget {
			query = ""
		}
		got, err := s.post("/api/v1/namespaces/"+space+"/pods/"+p.Name+"/eviction"+query, eviction)
		require.NoError(t, err)
		if !byBudget {
			require.Equal(t, http.StatusCreated, got.code, "%s: %s", name, got.body)
			continue
		}
		refused++
		require.Equal(t, http.StatusTooManyRequests, got.code, "%s: %s", name, got.body)
		var status metav1.Status
		require.NoError(t, json.Unmarshal(got.body, &status))
		require.True(t, disruption.BudgetRefuses(&status), "%s: %s", name, got.body)
		for _, b := range says.Budgets {
			if short := b[len(space)+1:]; bytes.Contains(got.body, []byte("The disruption budget "+short+" ")) {
				budgets[b] = true
			}
		}
	}
	require.Equal(t, 5, refused) // two frozen, one single, two sick
	require.ElementsMatch(t, says.Budgets, slices.Collect(maps.Keys(budgets)), "preflight names the budgets that refuse")
	require.Equal(t, "volumes", kinds["shop/db-0"])
	kubectlAgrees(t, s, file, objects, &says)
}
