package admission

import v1 "k8s.io/api/core/v1"

// Accept does to a new pod all that the API server does before it stores the pod:
//
//  1. Admit,
//  2. [Validate] of the pod as it was given,
//  3. [Quotas.Charge] of what [Admit] returns. A nil [Quotas] charges nothing.
//
// The error is that of the first step that refuses the pod; the pod is then nil and no quota is charged. A nil pod gives nil. Accept does
// the same to all pods of one template that are equal in labels and node affinity, their names aside.
func Accept(pod *v1.Pod, c Cluster, q *Quotas, o Options) (*v1.Pod, []Change, error) {
	if pod == nil {
		return nil, nil, nil
	}
	admitted, changes, err := Admit(pod, c, o)
	if err == nil {
		err = Refusal(pod, Validate(pod, o))
	}
	if err == nil {
		err = q.Charge(admitted)
	}
	if err != nil {
		return nil, nil, err
	}
	return admitted, changes, nil
}
