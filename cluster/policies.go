package main

// Enforces NetworkPolicy, which no part of Kubernetes itself does: it renders every policy as packet filter rules
// whenever pods, namespaces or policies change. For one node and IPv4: packets of pods over IPv6 are dropped, because
// the rules do not cover them. It fails closed: a pod that it has not seen yet has no network.

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"sort"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	net "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// network-policies KUBECONFIG POD-NETWORK
func enforcePolicies() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	namespaces := factory.Core().V1().Namespaces()
	policies := factory.Networking().V1().NetworkPolicies()
	changed := make(chan struct{}, 1)
	touch := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	for _, informer := range []cache.SharedIndexInformer{pods.Informer(), namespaces.Informer(), policies.Informer()} {
		informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { touch() },
			UpdateFunc: func(any, any) { touch() },
			DeleteFunc: func(any) { touch() },
		})
	}
	factory.Start(context.Background().Done())
	factory.WaitForCacheSync(context.Background().Done())
	touch()
	last := ""
	for range changed {
		time.Sleep(10 * time.Millisecond) // changes come in bursts
		view := cluster{network: os.Args[2], namespaces: map[string]labels.Set{}}
		everyNamespace, _ := namespaces.Lister().List(labels.Everything())
		for _, namespace := range everyNamespace {
			view.namespaces[namespace.Name] = namespace.Labels
		}
		everyPod, _ := pods.Lister().List(labels.Everything())
		for _, pod := range everyPod {
			address, err := netip.ParseAddr(pod.Status.PodIP)
			ended := pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed
			if err == nil && address.Is4() && !pod.Spec.HostNetwork && !ended {
				view.pods = append(view.pods, pod)
			}
		}
		sort.Slice(view.pods, func(i, j int) bool { return view.pods[i].Status.PodIP < view.pods[j].Status.PodIP })
		view.policies, _ = policies.Lister().List(labels.Everything())
		sort.Slice(view.policies, func(i, j int) bool { return view.policies[i].UID < view.policies[j].UID })
		rules := view.render()
		if rules == last {
			continue
		}
		nft := exec.Command("nft", "-f", "-")
		nft.Stdin = strings.NewReader(rules)
		if output, err := nft.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %s\n%s\n", err, output, rules)
			time.AfterFunc(time.Second, touch)
			continue
		}
		last = rules
	}
	return nil
}

type cluster struct {
	network    string
	namespaces map[string]labels.Set
	pods       []*core.Pod
	policies   []*net.NetworkPolicy
}

// The whole table at once: nft replaces the old by the new in one step, so there is no moment without rules.
func (c cluster) render() string {
	var chains, jumps strings.Builder
	known := []string{}
	for n, pod := range c.pods {
		known = append(known, pod.Status.PodIP)
		for _, way := range []net.PolicyType{net.PolicyTypeEgress, net.PolicyTypeIngress} {
			rules, isolated := c.allowed(pod, way)
			if !isolated {
				continue
			}
			mine := map[net.PolicyType]string{net.PolicyTypeEgress: "saddr", net.PolicyTypeIngress: "daddr"}[way]
			name := fmt.Sprintf("%s_%d", strings.ToLower(string(way)), n)
			fmt.Fprintf(&jumps, "    ip %s %s jump %s\n", mine, pod.Status.PodIP, name)
			fmt.Fprintf(&chains, "  chain %s { # %s/%s\n", name, pod.Namespace, pod.Name)
			for _, rule := range rules {
				fmt.Fprintf(&chains, "    %s return\n", rule)
			}
			fmt.Fprintf(&chains, "    drop\n  }\n")
		}
	}
	table := "table inet network_policies"
	elements := ""
	if len(known) > 0 {
		elements = "elements = { " + strings.Join(known, ", ") + " };"
	}
	return fmt.Sprintf(`%[1]s
delete %[1]s
%[1]s {
  set pods { type ipv4_addr; %[2]s }
%[3]s  chain pods_only {
    ct state established,related accept
    ip saddr %[4]s ip saddr != @pods drop
%[5]s  }
  chain to_others {
    type filter hook forward priority 0
    meta nfproto ipv6 drop
    jump pods_only
    ip daddr %[4]s ip daddr != @pods drop
  }
  chain to_node {
    type filter hook input priority 0
    iifname "cni0" meta nfproto ipv6 drop
    iifname "cni0" jump pods_only
  }
}
`, table, elements, chains.String(), c.network, jumps.String())
}

// What the policies that select this pod let through in this direction, as matches; and whether any selects it.
func (c cluster) allowed(pod *core.Pod, way net.PolicyType) (rules []string, isolated bool) {
	for _, policy := range c.policies {
		if policy.Namespace != pod.Namespace || !selects(&policy.Spec.PodSelector, pod.Labels) {
			continue
		}
		for _, kind := range policy.Spec.PolicyTypes {
			if kind != way {
				continue
			}
			isolated = true
			if way == net.PolicyTypeIngress {
				for _, rule := range policy.Spec.Ingress {
					rules = append(rules, c.matches(policy.Namespace, "saddr", rule.From, rule.Ports, pod)...)
				}
			} else {
				for _, rule := range policy.Spec.Egress {
					rules = append(rules, c.matches(policy.Namespace, "daddr", rule.To, rule.Ports, nil)...)
				}
			}
		}
	}
	return rules, isolated
}

// One rule of a policy. The target is the pod whose port names count; nil: each peer's own.
func (c cluster) matches(namespace, theirs string, peers []net.NetworkPolicyPeer, ports []net.NetworkPolicyPort, target *core.Pod) (all []string) {
	if len(peers) == 0 {
		// A rule without peers allows all of them; port names can then be looked up on pods only.
		all = product("", ports, target)
		for _, pod := range c.pods {
			if target == nil && named(ports) {
				all = append(all, product("ip "+theirs+" "+pod.Status.PodIP, ports, pod)...)
			}
		}
		return all
	}
	for _, peer := range peers {
		if block := peer.IPBlock; block != nil {
			match := fmt.Sprintf("ip %s %s", theirs, block.CIDR)
			if strings.Contains(block.CIDR, ":") {
				continue
			}
			if len(block.Except) > 0 {
				match += fmt.Sprintf(" ip %s != { %s }", theirs, strings.Join(block.Except, ", "))
			}
			all = append(all, product(match, ports, target)...)
			continue
		}
		for _, pod := range c.pods {
			if peer.NamespaceSelector == nil && pod.Namespace != namespace {
				continue
			}
			if peer.NamespaceSelector != nil && !selects(peer.NamespaceSelector, c.namespaces[pod.Namespace]) {
				continue
			}
			if peer.PodSelector != nil && !selects(peer.PodSelector, pod.Labels) {
				continue
			}
			whose := target
			if whose == nil {
				whose = pod
			}
			all = append(all, product("ip "+theirs+" "+pod.Status.PodIP, ports, whose)...)
		}
	}
	return all
}

// An address match with each of the ports; a named port that its pod lacks matches nothing.
func product(address string, ports []net.NetworkPolicyPort, whose *core.Pod) (all []string) {
	if len(ports) == 0 {
		return []string{address}
	}
	for _, port := range ports {
		protocol := "tcp"
		if port.Protocol != nil {
			protocol = strings.ToLower(string(*port.Protocol))
		}
		switch {
		case port.Port == nil:
			all = append(all, address+" meta l4proto "+protocol)
		case port.Port.Type == intstr.Int && port.EndPort != nil:
			all = append(all, fmt.Sprintf("%s %s dport %d-%d", address, protocol, port.Port.IntVal, *port.EndPort))
		case port.Port.Type == intstr.Int:
			all = append(all, fmt.Sprintf("%s %s dport %d", address, protocol, port.Port.IntVal))
		case whose != nil:
			for _, container := range whose.Spec.Containers {
				for _, has := range container.Ports {
					if has.Name == port.Port.StrVal && strings.EqualFold(string(has.Protocol), protocol) {
						all = append(all, fmt.Sprintf("%s %s dport %d", address, protocol, has.ContainerPort))
					}
				}
			}
		}
	}
	return all
}

func named(ports []net.NetworkPolicyPort) bool {
	for _, port := range ports {
		if port.Port != nil && port.Port.Type == intstr.String {
			return true
		}
	}
	return false
}

func selects(selector *meta.LabelSelector, set labels.Set) bool {
	parsed, err := meta.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(set)
}
